package remote

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// wait takes n numbers in a row, or up to n where a row is not needed.
func (s *Sequence) wait(ctx context.Context, n int64, row bool) (numbers, error) {
	if err := s.check(n); err != nil {
		return numbers{}, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return numbers{}, s.errClosed()
	}
	if got, ok := s.inHand(n, row); ok {
		s.mu.Unlock()
		return got, nil
	}
	w := &caller{n: n, row: row, done: make(chan struct{})}
	s.queue = append(s.queue, w)
	s.ask()
	s.mu.Unlock()
	select {
	case <-w.done:
		return w.got, w.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.done: // at the last moment
		return w.got, w.err
	default:
	}
	s.queue = slices.DeleteFunc(s.queue, func(other *caller) bool { return other == w })
	s.inRequest = slices.DeleteFunc(s.inRequest, func(other *caller) bool { return other == w })
	if s.trouble != nil {
		return numbers{}, fmt.Errorf("remote: sequence %q: %w; servers said last: %w", s.name, ctx.Err(), s.trouble)
	}
	return numbers{}, fmt.Errorf("remote: sequence %q: waiting for a server: %w", s.name, ctx.Err())
}

// inHand takes numbers of what was asked for ahead. A rest into which a row does not fit is
// dropped, so that numbers go on rising. mu is held.
func (s *Sequence) inHand(n int64, row bool) (got numbers, ok bool) {
	if s.cur.count == 0 || row && s.cur.count < n {
		if s.next.count == 0 {
			return numbers{}, false
		}
		s.follow(s.next)
		s.next = numbers{}
		if row && s.cur.count < n {
			return numbers{}, false
		}
	}
	got, s.cur = s.cur.split(min(n, s.cur.count))
	s.ask()
	return got, true
}

// follow begins with a range, whose successor's size depends on how long the one before lasted.
// mu is held.
func (s *Sequence) follow(later numbers) {
	now := time.Now()
	switch lasted := now.Sub(s.began); {
	case s.began.IsZero():
	case lasted < quick:
		s.size = min(2*s.size, mostNumbers)
	case lasted > slow:
		s.size = max(s.size/2, 1)
	}
	s.cur, s.began = later, now
}

// ask sees to it that servers are asked for what is wanted. mu is held.
func (s *Sequence) ask() {
	if !s.asking && !s.closed && s.count() > 0 {
		s.asking = true
		go s.run()
	}
}

// count returns how many numbers the next request is for. mu is held.
func (s *Sequence) count() (n int64) {
	n = needed(s.queue)
	switch size := min(s.size, s.most); {
	case !s.ahead:
	case n > 0 || s.wanted:
		n = max(n, size)
	case s.next.count == 0 && size > 1 && s.halted == nil:
		n = size // one range ahead of the one in use, but none for callers who want few
	}
	return n
}

// needed returns how many numbers callers wait for, as far as one request goes.
func needed(queue []*caller) (n int64) {
	for _, w := range queue {
		if n+w.n > mostNumbers {
			break
		}
		n += w.n
	}
	return n
}

// run asks servers until nothing more is wanted, one request at a time.
func (s *Sequence) run() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for failed := 0; !s.closed; {
		n := s.count()
		if n == 0 {
			break
		}
		if !s.ahead { // who comes later needs numbers that are taken later
			s.choose(n)
		}
		s.mu.Unlock()
		got, left, err := s.request(s.life, 0, n)
		s.mu.Lock()
		switch {
		case s.closed:
		case err == nil:
			failed, s.trouble, s.halted = 0, nil, nil
			s.handOut(got, left)
		case isAway(err):
			s.queue, s.inRequest = append(s.inRequest, s.queue...), nil
			s.trouble = err
			s.mu.Unlock()
			pause(s.life, failed)
			s.mu.Lock()
			failed++
		default:
			failed, s.trouble = 0, nil
			s.refused(n, err)
		}
	}
	s.asking = false
}

// choose takes those out of the queue whom a request for n numbers serves. mu is held.
func (s *Sequence) choose(n int64) {
	at := 0
	for ; at < len(s.queue) && s.queue[at].n <= n; at++ {
		n -= s.queue[at].n
	}
	s.inRequest, s.queue = slices.Clone(s.queue[:at]), slices.Delete(s.queue, 0, at)
}

// handOut gives out what came. Servers say how many numbers are left, of which none may keep so
// many ahead that others get none. mu is held.
func (s *Sequence) handOut(got numbers, left int64) {
	if !s.ahead {
		serve(s.inRequest, got)
		s.inRequest = nil
		return
	}
	s.most = max(1, min(s.def.MaxRange, mostNumbers, left/64))
	if len(s.queue) == 0 && !s.wanted {
		s.next = got
		return
	}
	s.wanted, s.next = false, numbers{}
	s.follow(got)
	s.queue, s.cur = serve(s.queue, s.cur)
}

// refused ends the waiting of those whom a request was for. One for fewer numbers may do where a
// token may not have so many at once. mu is held.
func (s *Sequence) refused(n int64, err error) {
	s.halted = err
	if reason(err) == "limit" && n > needed(s.queue) && len(s.inRequest) == 0 {
		if s.size = max(s.size/4, 1); n > 1 {
			return
		}
	}
	s.wanted = false
	refuse(s.inRequest, s.halted)
	refuse(s.queue, s.halted)
	s.inRequest, s.queue = nil, nil
}

// serve gives out numbers in the order of the queue, and returns who got none and what is left.
func serve(queue []*caller, left numbers) (unserved []*caller, _ numbers) {
	for _, w := range queue {
		n := min(w.n, left.count)
		if n == 0 || w.row && n < w.n {
			unserved = append(unserved, w)
			continue
		}
		w.got, left = left.split(n)
		close(w.done)
	}
	return unserved, left
}

// refuse ends the waiting of all who are in a queue.
func refuse(queue []*caller, err error) {
	for _, w := range queue {
		w.err = err
		close(w.done)
	}
}
