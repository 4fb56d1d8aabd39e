package sequence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

const (
	// callTimeout bounds a take. A database that is asked again while it is busy needs seconds.
	callTimeout = 10 * time.Second

	// A failing store is asked again after shortestPause, and then after ever longer ones.
	shortestPause = 20 * time.Millisecond
	longestPause  = time.Second
)

// fly sees to it that the store is asked for what is wanted. mu is held.
func (s *Sequence) fly() {
	if s.flight == nil {
		s.flight = make(chan struct{})
		s.world.Go(s.run)
	}
}

// wanted returns how many ordinals the next take is for. mu is held.
func (s *Sequence) wanted() int64 {
	var n int64
	for _, w := range s.queue {
		n += w.n
	}
	switch {
	case s.closed:
		return 0
	case s.exact:
		return n
	case n > 0 || s.asked:
		return max(n, s.rangeSize())
	case s.halted != nil || s.next.len() > 0 || s.began.IsZero():
		return 0
	}
	return s.rangeSize() // one range ahead of the one in use
}

// run asks the store until nothing more is wanted, with one call at a time: callers of a row that
// is locked would take all connections of the pool.
func (s *Sequence) run() {
	s.mu.Lock()
	for failed := 0; ; {
		n := s.wanted()
		if n == 0 {
			close(s.flight)
			s.flight = nil
			s.mu.Unlock() // not deferred: a store that panics does so without the lock
			return
		}
		var got span
		var err error
		exact := s.exact // the next period may begin during the take
		if s.halted != nil {
			s.mu.Unlock()
			err = s.resume()
			s.mu.Lock()
			if err == nil {
				s.halted = nil
				continue // what is wanted depends on what is left
			}
		} else {
			if exact { // who comes later needs a take that begins later
				s.aboard, s.queue = s.queue, nil
			}
			s.mu.Unlock()
			got, err = s.take(n)
			s.mu.Lock()
		}
		switch {
		case err == nil:
			s.note(nil)
			s.arrive(got, exact)
			failed = 0
			continue
		case final(err):
			s.note(err)
			s.halted, s.asked = err, false
			s.refuse(err)
			failed = 0
			continue
		}
		s.queue, s.aboard = append(s.aboard, s.queue...), nil
		s.note(err)
		s.mu.Unlock()
		pause := min(shortestPause<<min(failed, 10), longestPause)
		s.world.Wait(pause/2+time.Duration(s.world.Uint64()%uint64(pause)), s.closing)
		s.mu.Lock()
		failed++
	}
}

// note keeps what the store said last, and logs it when it is new. mu is held.
func (s *Sequence) note(err error) {
	switch {
	case s.closed:
	case err != nil && s.trouble == nil:
		s.log.Warn("a sequence gets no numbers", "sequence", s.name, "err", err)
	case err == nil && s.trouble != nil:
		s.log.Info("a sequence gets numbers again", "sequence", s.name)
	}
	s.trouble = err
	if s.heard != nil {
		s.heard(err)
	}
}

// final reports whether nobody waits for the end of an error.
func final(err error) bool {
	for _, kind := range []error{
		ErrEnded, ErrRolledBack, ErrNoSequence, ErrPeriod, lease.ErrReplaced, lease.ErrRefused,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// arrive gives out what was taken. mu is held.
func (s *Sequence) arrive(got span, exact bool) {
	if s.closed {
		s.next = got // to be given back
		return
	}
	waited := len(s.aboard)
	s.aboard, got = serve(s.aboard, got)
	switch {
	case !exact:
		s.land(got)
	case len(s.aboard) < waited: // what a period took ahead when it was the present one is lower
		s.cur.Load().seal()
		s.next = span{}
	}
	if s.known.counter.From < s.known.course.count {
		return
	}
	err := s.known.ended() // there is nothing more for those who need more than was left
	refuse(s.aboard, err)
	s.aboard = nil
	if !exact {
		refuse(s.queue, err)
		s.queue = nil
	}
}

// refuse ends the waiting of all. mu is held.
func (s *Sequence) refuse(err error) {
	refuse(s.aboard, err)
	refuse(s.queue, err)
	s.aboard, s.queue = nil, nil
}

// resume reads the record after an error that no waiting mends.
func (s *Sequence) resume() error {
	ctx, cancel := s.world.WithTimeout(s.life, callTimeout)
	defer cancel()
	if err := s.refresh(ctx); err != nil {
		return err
	}
	if s.known.counter.From >= s.known.course.count {
		return s.known.ended()
	}
	return nil
}

// take makes one take of up to n ordinals. One with an unknown outcome is lost: reading the record
// would not tell, because databases show what is not on the disk yet.
func (s *Sequence) take(n int64) (span, error) {
	ctx, cancel := s.world.WithTimeout(s.life, callTimeout)
	defer cancel()
	for range 3 { // others may change the sequence meanwhile
		got, use, err := s.add(ctx, n)
		if err != nil || use {
			return got, err
		}
	}
	return span{}, fmt.Errorf("sequence %q: it was changed again and again", s.name)
}

// add takes ordinals, and reports whether they can be used.
func (s *Sequence) add(ctx context.Context, n int64) (got span, use bool, err error) {
	k, nonce := s.known, s.world.Text()
	r, err := store.Add(ctx, s.store, store.Addition{
		Key: k.counter.Key, N: n, Limit: k.course.count, Generation: k.counter.Generation, Nonce: nonce,
	})
	if errors.Is(err, lease.ErrLost) {
		return span{}, false, s.refresh(ctx)
	}
	if err != nil {
		return span{}, false, fmt.Errorf("sequence %q: taking numbers: %w", s.name, err)
	}
	back := k.Confirmed < s.leastConfirmed() || r.Revision <= k.counter.Revision || r.PrevUntil < s.own
	if back { // at once, because what follows may fail, and later takes may hide it
		s.doubt()
	} else { // even if it cannot be used
		s.saw(r.Revision)
	}
	k.counter = r
	if s.parent == nil {
		k.record = r
	} else {
		err = s.confirmUnchanged(ctx)
	}
	if err == nil {
		err = s.judge(ctx, k, back)
	}
	if errors.Is(err, lease.ErrLost) { // the floor may be another one
		return span{}, false, s.refresh(ctx)
	}
	if err != nil {
		return span{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = k
	if r.From == r.PrevUntil {
		return span{}, false, k.ended()
	}
	s.last, s.own = r, r.From
	return span{r.PrevUntil, r.From}, true, nil
}

// saw keeps the revision of a take: a record with a lower one went back.
func (s *Sequence) saw(revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.counter.Revision = revision
	if s.parent == nil {
		s.known.record.Revision = revision
	}
}

func (s state) ended() error {
	if s.BlockOf != "" {
		return fmt.Errorf("sequence %q: %w up to max %d: %w (%s): take another block, or end the import", s.name,
			ErrEnded, *s.Max, ErrBlock, s.BlockOf)
	}
	of := ""
	if s.Pattern != "" {
		of = fmt.Sprintf(" of period %d", s.counter.Node)
	}
	return fmt.Errorf("sequence %q: %w%s up to max %d: raise max, or use another sequence", s.name, ErrEnded,
		of, *s.Max)
}
