package sequence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// several is independent stores, of which one answer is enough. Each has an
// ordinary sequence of the name. With n stores or more to come, the first
// one starts at 1, the second one at 2, and so on, and each has the step n:
// so no two give out one number, whatever the stores lose.
type several struct {
	name    string
	seq     *Sequence       // that takes of them
	members []*member       // in the order of the stores
	life    context.Context // of calls to stores
	end     context.CancelFunc

	mu       sync.Mutex
	cur      int           // the store in use
	news     chan struct{} // closed when a store answers
	conflict error         // two stores that may not be used together were found
	ended    bool
}

// member is a store of several.
type member struct {
	source
	number int // from 1, for errors

	// Guarded by the mutex of several. The goroutine that asks a busy store
	// alone uses its source.
	unpin func() // nil until the sequence is open
	way   course // without its count, which can change
	busy  bool   // it is asked
	err   error  // what it said last; nil when that was numbers
	out   bool   // it is left out for good
	late  span   // it answered when another store had: the next take gets it
}

const (
	// latecomers is how long OpenAny waits for a store when another one has
	// answered.
	latecomers = 2 * time.Second

	// hedge is how long the store in use may think before another one is
	// asked, too.
	hedge = 100 * time.Millisecond
)

// OpenAny opens sequences of one name in several stores that know nothing
// of each other. It takes numbers from one store as long as it answers, and
// then from another; they are in no order. It refuses sequences that can
// give out the same number: with different steps, with numbers in common,
// or one store given twice. At least one store must answer and have the
// sequence. The sequence begins with the first such store of the list, and
// uses the others as soon as they answer.
func OpenAny(ctx context.Context, stores []store.Store, name string, o *Options) (*Sequence, error) {
	switch {
	case len(stores) == 0:
		return nil, fmt.Errorf("sequence %q: no store is given (%w)", name, lease.ErrInvalid)
	case o != nil && o.Exact:
		return nil, fmt.Errorf("sequence %q: over several stores it takes ranges: leave out Exact (%w)", name,
			lease.ErrInvalid)
	}
	s := newSequence()
	s.useStore(ctx, nil, name, o)
	a := &several{name: name, seq: s, news: make(chan struct{})}
	for i, st := range stores {
		m := &member{number: i + 1}
		m.useStore(ctx, st, name, o)
		a.members = append(a.members, m)
	}
	s.stores, s.ask = a, a.takeFromAny
	a.life, a.end = context.WithCancel(world.With(context.Background(), s.world))
	first, err := a.openFirst(ctx)
	if err != nil {
		a.close(ctx)
		return nil, err
	}
	s.lastState = first.lastState
	s.startTakes(a.life, false, func() {})
	return s, nil
}

// openFirst asks all stores for their sequences, and returns the first
// member with it.
func (a *several) openFirst(ctx context.Context) (*member, error) {
	a.mu.Lock()
	for _, m := range a.members {
		a.askInBackground(m, func(ctx context.Context) (span, error) { return span{}, a.joinMember(ctx, m) })
	}
	a.mu.Unlock()
	timeout := time.Duration(-1)
	for {
		a.mu.Lock()
		var first *member
		waiting, news := 0, a.news
		for i, m := range a.members {
			switch {
			case m.busy:
				waiting++
			case m.unpin != nil && first == nil:
				first, a.cur, timeout = m, i, latecomers
			}
		}
		conflict := a.conflict
		a.mu.Unlock()
		switch {
		case conflict != nil:
			return nil, conflict
		case waiting == 0 && first == nil:
			err, _ := a.reasonWithout()
			return nil, err
		case waiting == 0:
			return first, nil
		}
		switch a.seq.world.Wait(timeout, news, ctx.Done()) {
		case 1:
			err, _ := a.reasonWithout()
			return nil, fmt.Errorf("%w: %w", err, ctx.Err())
		case -1:
			return first, nil
		}
	}
}

// askInBackground asks a store in the background, and keeps its answer. mu
// is held.
func (a *several) askInBackground(m *member, ask func(ctx context.Context) (span, error)) {
	m.busy = true
	a.seq.world.Go(func() {
		ctx, cancel := a.seq.world.WithTimeout(a.life, callTimeout)
		defer cancel()
		got, err := ask(ctx)
		a.mu.Lock()
		defer a.mu.Unlock()
		if err != nil && m.err == nil {
			m.log.Warn("a store of a sequence gives no numbers", "sequence", a.name, "store", m.number, "err", err)
		}
		if m.busy = false; !m.out {
			m.err, m.late = err, got
		}
		if a.ended {
			m.close()
		}
		close(a.news)
		a.news = make(chan struct{})
	})
}

// joinMember opens the sequence of a store, if its numbers are none of the
// others'. Two stores that meet are both left out, because it is unknown
// which of them is the right one.
func (a *several) joinMember(ctx context.Context, m *member) error {
	unpin, err := m.source.openRecord(ctx)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	m.unpin, m.way = unpin, m.lastState.course
	if m.lastState.Mode == Strict || m.lastState.Pattern != "" {
		err = fmt.Errorf("sequence %q: it is strict or dated in store %d, and numbers of several stores have no "+
			"order: use Open with one store (%w)", a.name, m.number, lease.ErrRefused)
	}
	for _, other := range a.members {
		if other == m || other.unpin == nil || other.out {
			continue
		}
		switch has := other.way; {
		case has.step != m.way.step:
			err = fmt.Errorf("sequence %q: store %d has step %d, and store %d step %d: numbers would come twice: "+
				"leave out the store that is wrong (%w)", a.name, other.number, has.step, m.number, m.way.step,
				lease.ErrRefused)
		case has.meets(m.way):
			err = fmt.Errorf("sequence %q: store %d and store %d give out the same numbers, from %d and %d in steps "+
				"of %d: one is a copy of the other, or they are the same: leave one out (%w)", a.name, other.number,
				m.number, has.start, m.way.start, m.way.step, lease.ErrRefused)
			other.out, other.err = true, err
			a.seq.world.Go(a.seq.dropNumbers) // it has the mutex of the sequence first
		}
	}
	if err != nil {
		a.conflict, m.out, m.err = err, true, err
	}
	return err
}

// dropNumbers drops the numbers that the sequence holds.
func (s *Sequence) dropNumbers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.cur.Load(); p != nil {
		p.seal()
	}
	s.next = span{}
}

// adoptStore makes a store the one in use, of which the sequence gets
// numbers.
func (s *Sequence) adoptStore(known state, got span) (Range, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastState = known
	return s.rangeOf(got), known.course.count - known.counter.From, nil
}

// takeFromAny takes up to n numbers of any store. It asks the store in use
// first, and another one when that is in trouble or slow, so that a program
// does not hold ranges of all stores for nothing. It is an [ErrNotReady]
// unless no store gives numbers before it is mended.
func (a *several) takeFromAny(ctx context.Context, n int64) (Range, int64, error) {
	asked := map[*member]bool{}
	for {
		a.mu.Lock()
		var idle []*member // that this call may ask
		failed := 0
		for i := range a.members {
			i = (a.cur + i) % len(a.members)
			m := a.members[i]
			switch {
			case m.out:
				failed++
			case m.late.len() > 0:
				got, known := m.late, m.lastState
				a.cur, m.late = i, span{}
				a.mu.Unlock()
				return a.seq.adoptStore(known, got)
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
			return Range{}, 0, err
		case len(idle) < 2: // no other store can be asked
			timeout = -1
		}
		if a.seq.world.Wait(timeout, news, ctx.Done()) == 1 {
			return Range{}, 0, fmt.Errorf("%w (%w)", ctx.Err(), ErrNotReady)
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
		if err := m.resumeAfter(ctx); err != nil {
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

// giveBack returns the rests of a dense sequence to their stores, the last
// take first. It waits for the answers of busy stores after it gave back to
// the others, because these answers bring numbers, too.
func (a *several) giveBack(ctx context.Context, rests []Range) error {
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
		of := []span{m.late}
		for _, r := range rests {
			if from := m.way.ordinalOf(r.First); m.way.numberOf(from) == r.First {
				of = append(of, span{m.way.start, from, from + r.Count})
			}
		}
		a.mu.Unlock()
		errs = append(errs, m.giveBack(ctx, of))
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
		a.seq.world.Wait(-1, news, ctx.Done())
		a.mu.Lock()
	}
	return !m.busy
}

// close ends the use of the stores, and waits for those that are asked as
// long as ctx lasts.
func (a *several) close(ctx context.Context) {
	a.end()
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
