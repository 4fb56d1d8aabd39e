package sequence

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/lease/store"
)

// take asks the store in use first, and another one when that is in trouble
// or slow, so that a program does not hold ranges of all stores for
// nothing. It is an [ErrNotReady] unless no store gives numbers before it
// is mended.
func (a *several) take(ctx context.Context, _, n int64) (span, error) {
	asked := map[*member]bool{}
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asking = false
		a.dropLate()
		for _, m := range a.members {
			if !m.busy && m.untold.Load() != nil { // else nobody may ask it again
				a.askInBackground(m, func(ctx context.Context) (span, error) { return span{}, m.rereadUsable(ctx) })
			}
		}
	}()
	for {
		a.mu.Lock()
		a.asking = true
		var idle []*member // that this call may ask
		failed := 0
		for i := range a.members {
			i = (a.cur + i) % len(a.members)
			m := a.members[i]
			switch {
			case m.out:
				failed++
			case m.late.len() > 0:
				got := m.late
				a.cur, m.late, a.lastState = i, span{}, m.lastState
				a.mu.Unlock()
				return got, nil
			case asked[m] && !m.busy:
				failed++
			case !m.busy:
				idle = append(idle, m)
			}
		}
		timeout := hedge
		if len(idle) > 0 {
			m := idle[0]
			if asked[m] = true; m.err != nil { // it is in trouble
				timeout = 0
			}
			halted := final(m.err)
			a.askInBackground(m, func(ctx context.Context) (span, error) { return a.takeOf(ctx, m, halted, n) })
		}
		news := a.news
		a.mu.Unlock()
		switch {
		case failed == len(a.members):
			err, mends := a.reasonWithout()
			if mends {
				err = fmt.Errorf("%v (%w)", err, ErrNotReady)
			}
			return span{}, err
		case len(idle) < 2: // no other store can be asked
			timeout = -1
		}
		if a.world.Wait(timeout, news, ctx.Done()) == 1 {
			return span{}, fmt.Errorf("%w (%w)", ctx.Err(), ErrNotReady)
		}
	}
}

// dropLate drops answers that no take waits for where, with the rest of
// their store, they are longer than two of the largest ranges: a
// confirmation counts on no program holding more. mu is held.
func (a *several) dropLate() {
	for _, m := range a.members {
		if a.asking || m.late.len() == 0 {
			continue
		}
		held := m.late.len()
		if p := a.numbers.cur.Load(); p.span.start == m.late.start {
			held += p.left()
		}
		if next := a.numbers.next; next.start == m.late.start {
			held += next.len()
		}
		if held > 2*m.lastState.MaxRange {
			m.late = span{}
		}
	}
}

// takeOf takes up to n ordinals of a store. It opens the sequence first
// where it must, and reads it again after an error that no waiting mends.
func (a *several) takeOf(ctx context.Context, m *member, halted bool, n int64) (span, error) {
	if m.unpin == nil {
		if err := a.joinMember(ctx, m); err != nil {
			return span{}, err
		}
	} else if halted {
		if err := m.resume(ctx); err != nil {
			return span{}, err
		}
	}
	return m.fetchOrdinals(ctx, n, store.ErrLost)
}

// reasonWithout says why no store gives numbers, and whether waiting may
// mend that.
func (a *several) reasonWithout() (err error, mends bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	err = fmt.Errorf("sequence %q: no store gives numbers", a.name)
	for _, m := range a.members {
		if m.err != nil {
			err = fmt.Errorf("%w; store %d of %d: %w", err, m.number, len(a.members), m.err)
		}
		mends = mends || !final(m.err)
	}
	return err, mends
}

// doubted reports whether the store in use was found to be a copy. mu is
// held.
func (a *several) doubted() bool { return a.members[a.cur].out }

// giveBack returns the rests to their stores. It waits for the answers of
// busy stores after it gave back to the others, because these answers bring
// numbers, too.
func (a *several) giveBack(ctx context.Context, rests []span) error {
	var errs []error
	a.mu.Lock()
	defer a.mu.Unlock()
	var idle, busy []*member
	for _, m := range a.members {
		switch {
		case m.unpin == nil: // it gave none
		case m.busy:
			busy = append(busy, m)
		default:
			idle = append(idle, m)
		}
	}
	for _, m := range append(idle, busy...) {
		if !a.awaitAnswer(ctx, m) {
			errs = append(errs, fmt.Errorf("sequence %q: store %d of %d does not answer: its last numbers may be a "+
				"gap: %w", a.name, m.number, len(a.members), ctx.Err()))
			continue
		}
		late := m.late
		a.mu.Unlock()
		errs = append(errs, m.giveBack(ctx, append([]span{late}, rests...)))
		a.mu.Lock()
	}
	return errors.Join(errs...)
}

// awaitAnswer waits for the answer of a busy store as long as ctx lasts,
// and reports whether it came. mu is held, but not meanwhile.
func (a *several) awaitAnswer(ctx context.Context, m *member) bool {
	for m.busy && ctx.Err() == nil {
		news := a.news
		a.mu.Unlock()
		a.world.Wait(-1, news, ctx.Done())
		a.mu.Lock()
	}
	return !m.busy
}

// close ends the use of the stores, and waits for those that are asked as
// long as ctx lasts.
func (a *several) close(ctx context.Context) {
	a.numbers.end()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	for _, m := range a.members {
		if a.awaitAnswer(ctx, m) { // else it is closed when it answers
			m.close()
		}
	}
}

func (m *member) close() {
	if m.unpin != nil {
		m.unpin()
		m.unpin = nil
	}
}
