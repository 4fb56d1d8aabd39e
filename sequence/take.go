package sequence

import (
	"cmp"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// step is one thing that runTakes does without the mutex: it waits, gives
// back, reads the record again, or takes.
type step struct {
	pause    time.Duration
	rests    []span
	reread   bool
	least, n int64
	exact    bool // callers get all that the take brings; the next period may begin during it
	got      span
	err      error
	failed   int // takes without an answer until now
}

const (
	// callTimeout bounds a take. A database that is asked again while it is
	// busy needs seconds.
	callTimeout = 10 * time.Second

	// A failing store is asked again after shortestPause, and then after
	// ever longer ones.
	shortestPause = 20 * time.Millisecond
	longestPause  = time.Second
)

// startTaking sees to it that the supply is asked for the wanted numbers.
// mu is held.
func (s *Sequence) startTaking() {
	if s.takes == nil {
		s.takes = make(chan struct{})
		s.world.Go(s.runTakes)
	}
}

// runTakes asks the supply until nobody wants more, with one call at a
// time: otherwise a locked row could hold all connections of the pool.
func (s *Sequence) runTakes() {
	var t step
	for s.nextStep(&t) {
		switch {
		case t.pause > 0:
			s.world.Wait(t.pause, s.closing)
		case t.rests != nil:
			s.returnRests(t.rests)
		case t.reread:
			t.err = s.from.resume(s.life)
		default:
			t.got, t.err = s.from.take(s.life, t.least, t.n)
		}
	}
}

// nextStep ends a step and sets the next one. Without one it reports false.
func (s *Sequence) nextStep(t *step) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endStep(t)
	if t.pause > 0 {
		return true
	}
	if s.retired && !s.closed {
		s.retired, t.rests = false, s.dropHeld()
		return true
	}
	if t.least, t.n = s.wantedOrdinals(); t.n == 0 {
		close(s.takes)
		s.takes = nil
		return false
	}
	t.exact, t.reread = s.exact, s.rereadReason != nil
	if t.exact && !t.reread { // who comes later needs a take that begins later
		s.inTake, s.queue = s.queue, nil
	}
	return true
}

// endStep hands out what a step brought, and sets a pause after an error
// that waiting may end. mu is held.
func (s *Sequence) endStep(t *step) {
	done := *t
	*t = step{failed: done.failed}
	switch err := done.err; {
	case done.n == 0: // it waited, or gave back
	case err == nil && done.reread:
		s.rereadReason = nil
	case err == nil && !s.from.doubted():
		s.noteError(nil)
		s.handOut(done)
		t.failed = 0
	case s.from.final(err):
		s.noteError(err)
		s.rereadReason, s.eager = err, false
		s.refuseAll(err)
		t.failed = 0
	default:
		s.noteError(cmp.Or(err, store.ErrLost))
		s.queue, s.inTake = append(s.inTake, s.queue...), nil
		pause := min(shortestPause<<min(t.failed, 10), longestPause)
		t.pause = pause/2 + time.Duration(s.world.Uint64()%uint64(pause))
		t.failed++
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
	if n = s.rangeSize(); n == 1 && s.single {
		return 0, 0 // callers want few numbers: none is taken ahead
	}
	return 1, n // one range ahead of the one in use
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

// handOut gives out a taken range. mu is held.
func (s *Sequence) handOut(t step) {
	got := t.got
	if got.len() < t.n {
		s.size = t.n / 4 // perhaps so many may not be taken at once
	}
	if s.closed {
		s.next = got // to be given back
		return
	}
	if t.exact { // what a period took ahead when it was the present one is lower: nobody gets it after this
		s.dropHeld()
		s.inTake, _ = serve(s.inTake, got)
	} else {
		s.deliverRange(got)
	}
	s.queue, s.inTake = append(s.inTake, s.queue...), nil // for them it was too little
}

// refuseAll ends the waiting of all. mu is held.
func (s *Sequence) refuseAll(err error) {
	refuse(s.inTake, err)
	refuse(s.queue, err)
	s.inTake, s.queue = nil, nil
}
