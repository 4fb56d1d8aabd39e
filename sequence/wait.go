package sequence

import (
	"context"
	"fmt"
	"slices"

	"github.com/snowfence/snowfence/lease/store"
)

// waiter is a call that waits for ordinals.
type waiter struct {
	n    int64
	row  bool // it needs all n, one after the other; else fewer will do
	got  span
	err  error
	done chan struct{} // closed when got or err is there
}

// waitFor takes n ordinals in a row, or up to n where a row is not needed,
// and waits for the store if it has to.
func (s *Sequence) waitFor(ctx context.Context, n int64, row bool) (span, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return span{}, s.errClosed()
	}
	if got, ok := s.atHand(n, row); ok {
		s.mu.Unlock()
		return got, nil
	}
	w := &waiter{n: n, row: row, done: make(chan struct{})}
	s.queue = append(s.queue, w)
	s.startTaking()
	s.mu.Unlock()
	if s.world.Wait(-1, w.done, ctx.Done()) == 0 {
		return w.got, w.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.done: // at the last moment
		return w.got, w.err
	default:
	}
	s.queue = slices.DeleteFunc(s.queue, func(other *waiter) bool { return other == w })
	s.inTake = slices.DeleteFunc(s.inTake, func(other *waiter) bool { return other == w })
	if s.trouble != nil {
		return span{}, fmt.Errorf("sequence %q: %w; the last answer was: %w", s.name, ctx.Err(),
			store.Discreet(s.trouble))
	}
	return span{}, fmt.Errorf("sequence %q: waiting for numbers: %w", s.name, ctx.Err())
}

// takeReady takes up to n ordinals without waiting.
func (s *Sequence) takeReady(n int64) (span, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return span{}, s.errClosed()
	}
	if got, ok := s.atHand(n, false); ok {
		return got, nil
	}
	if s.exact {
		return span{}, fmt.Errorf("sequence %q: %w: each number needs the store: use Next", s.name, ErrNotReady)
	}
	s.eager = true
	s.startTaking()
	if s.rereadReason != nil {
		return span{}, s.rereadReason
	}
	return span{}, fmt.Errorf("sequence %q: %w: try again, or use Next", s.name, ErrNotReady)
}

func (s *Sequence) errClosed() error { return fmt.Errorf("sequence %q: %w", s.name, ErrClosed) }

// atHand takes ordinals of the range taken ahead. If the row does not fit
// into the rest, and the next range does not continue it, the rest is
// dropped, so that numbers rise. mu is held.
func (s *Sequence) atHand(n int64, row bool) (got span, ok bool) {
	p := s.cur.Load()
	if row {
		got, ok = p.takeRow(n)
	} else {
		got, ok = p.takeSome(n)
	}
	if ok || s.next.len() == 0 {
		return got, ok
	}
	all := s.followWith(s.next)
	s.next = span{}
	s.noteFirstOfRange()
	if row && all.len() < n {
		s.cur.Store(all.piece(s.step))
		return span{}, false
	}
	got, all = all.split(min(n, all.len()))
	s.keepRest(all)
	s.startTaking()
	return got, true
}

// followWith ends the piece in use and returns a later range, with the rest
// of the piece where the range continues it. mu is held.
func (s *Sequence) followWith(later span) span {
	if rest := s.cur.Load().seal(); rest.start == later.start && rest.until == later.from {
		later.from = rest.from
	}
	return later
}

// dropHeld ends the piece in use and the range taken ahead, and returns
// them, the last one first. mu is held.
func (s *Sequence) dropHeld() []span {
	rests := []span{s.next, s.cur.Load().seal()}
	s.next = span{}
	return rests
}

// dropAhead drops the numbers that the sequence holds.
func (s *Sequence) dropAhead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropHeld()
}

// deliverRange gives a range to the waiters, in their order, and keeps the
// rest. mu is held.
func (s *Sequence) deliverRange(got span) {
	defer s.trimRest()
	if len(s.queue) == 0 && !s.eager {
		s.next = got
		return
	}
	s.eager = false
	s.noteFirstOfRange()
	got = s.followWith(got)
	s.queue, got = serve(s.queue, got)
	s.keepRest(got)
}

// keepRest makes the rest the piece in use. The part above one range is the
// range taken ahead, unless waiters can use it. mu is held.
func (s *Sequence) keepRest(left span) {
	if more := left.len() - s.lastState.MaxRange; more > 0 && len(s.queue) == 0 {
		left, s.next = left.split(more)
	}
	s.cur.Store(left.piece(s.step))
}

// trimRest drops the part above two of the largest ranges, a rest of
// callers that gave up: a confirmation counts on no program holding more.
// mu is held.
func (s *Sequence) trimRest() {
	most := 2 * s.lastState.MaxRange
	rest := s.cur.Load().seal() // first: nobody takes of what is counted
	s.next.from = max(s.next.from, s.next.until-most)
	rest.from = max(rest.from, rest.until-(most-s.next.len()))
	s.cur.Store(rest.piece(s.step))
}

// serve gives out ordinals in the order of the queue, and returns the
// waiters without any and the rest.
func serve(queue []*waiter, left span) (unserved []*waiter, _ span) {
	for _, w := range queue {
		n := min(w.n, left.len())
		if n == 0 || w.row && n < w.n {
			unserved = append(unserved, w)
			continue
		}
		w.got, left = left.split(n)
		close(w.done)
	}
	return unserved, left
}

// refuse ends the waiting of a whole queue.
func refuse(queue []*waiter, err error) {
	for _, w := range queue {
		w.err = err
		close(w.done)
	}
}
