package sequence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

const (
	// callTimeout bounds a take. A database that is asked again while it is
	// busy needs seconds.
	callTimeout = 10 * time.Second

	// A failing store is asked again after shortestPause, and then after
	// ever longer ones.
	shortestPause = 20 * time.Millisecond
	longestPause  = time.Second
)

// startTaking sees to it that the store is asked for the wanted numbers. mu
// is held.
func (s *Sequence) startTaking() {
	if s.storeCall == nil {
		s.storeCall = make(chan struct{})
		s.world.Go(s.runTakes)
	}
}

// runTakes asks the store until nobody wants more, with one call at a time:
// otherwise a locked row could hold all connections of the pool.
func (s *Sequence) runTakes() {
	s.mu.Lock()
	for failed := 0; ; {
		least, n := s.wantedOrdinals()
		if n == 0 {
			close(s.storeCall)
			s.storeCall = nil
			s.mu.Unlock() // not deferred: a store that panics does so without the lock
			return
		}
		var got span
		var err error
		exact := s.exact // the next period may begin during the take
		if s.rereadReason != nil {
			s.mu.Unlock()
			if s.ask == nil {
				err = s.resumeAfter(s.life)
			}
			s.mu.Lock()
			if err == nil {
				s.rereadReason = nil
				continue // what is wanted depends on what is left
			}
		} else {
			if exact { // who comes later needs a take that begins later
				s.chooseWaiters(n)
			}
			s.mu.Unlock()
			if s.ask != nil {
				got, err = s.askFor(least, n)
			} else {
				ctx, cancel := s.world.WithTimeout(s.life, callTimeout)
				got, err = s.fetchOrdinals(ctx, n, store.ErrLost)
				cancel()
			}
			s.mu.Lock()
			if err == nil && s.lastState.Confirmed < s.leastConfirmed() {
				err = store.ErrLost // meanwhile another period saw that the store was rolled back
			}
		}
		switch {
		case err == nil:
			s.noteError(nil)
			s.handOut(got, exact)
			failed = 0
			continue
		case s.isFinal(err):
			s.noteError(err)
			s.rereadReason, s.eager = err, false
			s.refuseAll(err)
			failed = 0
			continue
		}
		s.queue, s.inTake = append(s.inTake, s.queue...), nil
		s.noteError(err)
		s.mu.Unlock()
		pause := min(shortestPause<<min(failed, 10), longestPause)
		s.world.Wait(pause/2+time.Duration(s.world.Uint64()%uint64(pause)), s.closing)
		s.mu.Lock()
		failed++
	}
}

// wantedOrdinals returns how many ordinals callers wait for, as far as one
// take goes, and how many the next take is for. mu is held.
func (s *Sequence) wantedOrdinals() (least, n int64) {
	for _, w := range s.queue {
		if least+w.n > mostAtOnce {
			break
		}
		least += w.n
	}
	switch {
	case s.closed:
		return 0, 0
	case s.exact:
		return least, least
	case least > 0 || s.eager:
		return max(1, least), max(least, s.rangeSize())
	case s.rereadReason != nil || s.next.len() > 0 || s.began.IsZero():
		return 0, 0
	}
	if n = s.rangeSize(); n == 1 && s.ofProgram() {
		return 0, 0 // callers want few numbers: none is taken ahead
	}
	return 1, n // one range ahead of the one in use
}

// chooseWaiters takes the waiters out of the queue that a take of n
// ordinals is for. mu is held.
func (s *Sequence) chooseWaiters(n int64) {
	at := 0
	for ; at < len(s.queue) && s.queue[at].n <= n; at++ {
		n -= s.queue[at].n
	}
	s.inTake, s.queue = slices.Clone(s.queue[:at]), slices.Delete(s.queue, 0, at)
}

// noteError keeps the store's last error, and logs it when it is new. mu is
// held.
func (s *Sequence) noteError(err error) {
	switch {
	case s.closed:
	case err != nil && s.trouble == nil:
		s.log.Warn("a sequence gets no numbers", "sequence", s.name, "err", err)
	case err == nil && s.trouble != nil:
		s.log.Info("a sequence gets numbers again", "sequence", s.name)
	}
	s.trouble = err
}

// isFinal reports whether waiting cannot end an error.
func (s *Sequence) isFinal(err error) bool {
	if s.ask != nil {
		return !errors.Is(err, ErrNotReady)
	}
	return final(err)
}

// final reports whether waiting cannot end a store's error.
func final(err error) bool {
	for _, kind := range []error{
		ErrEnded, ErrRolledBack, ErrNoSequence, ErrPeriod, store.ErrReplaced, store.ErrMoved, lease.ErrRefused,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// handOut gives out a taken range. mu is held.
func (s *Sequence) handOut(got span, exact bool) {
	if s.closed {
		s.next = got // to be given back
		return
	}
	waited := len(s.inTake)
	s.inTake, got = serve(s.inTake, got)
	switch {
	case !exact:
		s.deliverRange(got)
	case len(s.inTake) < waited: // what a period took ahead when it was the present one is lower
		s.cur.Load().seal()
		s.next = span{}
	}
	if s.ask != nil || s.lastState.counter.From < s.lastState.course.count {
		return // a server may hold numbers when all are taken, and says itself when they end
	}
	err := s.lastState.endError() // there is nothing more for those who need more than was left
	refuse(s.inTake, err)
	s.inTake = nil
}

// refuseAll ends the waiting of all. mu is held.
func (s *Sequence) refuseAll(err error) {
	refuse(s.inTake, err)
	refuse(s.queue, err)
	s.inTake, s.queue = nil, nil
}

// resumeAfter reads the record after an error that no waiting mends.
func (s *source) resumeAfter(ctx context.Context) error {
	ctx, cancel := s.world.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := s.rereadUsable(ctx); err != nil {
		return err
	}
	if s.lastState.counter.From >= s.lastState.course.count {
		return s.lastState.endError()
	}
	return nil
}

func (s state) endError() error {
	of := ""
	if s.Pattern != "" {
		of = fmt.Sprintf(" of period %d", s.counter.Node)
	}
	return fmt.Errorf("sequence %q: %w%s up to max %d: raise max, or use another sequence", s.name, ErrEnded,
		of, *s.Max)
}
