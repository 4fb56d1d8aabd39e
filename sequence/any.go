package sequence

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Any gives out numbers of sequences in several stores that know nothing of each other: of one
// store as long as it answers, and then of another. Its numbers are in no order. It is safe for
// concurrent use.
//
// Each store has an ordinary sequence of the name. With n stores or more to come, the first one
// starts at 1, the second one at 2, and so on, and each has the step n: so no two give out one
// number, whatever the stores lose. Which store starts where must never change.
//
// A store that does not answer, was rolled back or has no numbers left stops nothing while another
// one gives numbers.
type Any struct {
	cur atomic.Pointer[Sequence] // of which numbers are taken; never nil

	name    string
	world   world.World
	log     *slog.Logger
	members []*member // in the order of the stores
	life    context.Context
	end     context.CancelFunc
	closing chan struct{} // closed when Close begins
	gone    chan struct{} // closed when Close has ended
	lost    error         // what Close returns

	mu       sync.Mutex    // guards what follows; taken with that of a Sequence held, never the other way
	news     chan struct{} // closed when a store says something
	conflict error         // two stores that may not be used together were found
	closed   bool
}

// member is a store of an Any.
type member struct {
	number int // from 1, for errors
	store  store.Store
	ended  chan struct{} // closed when nobody tries to open it any more

	// Guarded by the mutex of the Any.
	seq      *Sequence     // nil until it is opened, and when it may not be used
	tried    bool          // to open it, at least once
	left     chan struct{} // nil until it is left out for good; closed when it is closed
	err      error         // what the store said last; nil when that was numbers
	refusals int           // how often it said what no waiting mends
}

const (
	// latecomers is how long OpenAny waits for a store when another one has answered.
	latecomers = 2 * time.Second

	// longestAbsence is how long a store that was left out waits for the next attempt.
	longestAbsence = 10 * time.Second
)

// OpenAny opens sequences of one name in several stores. It refuses stores whose sequences can give
// out the same number: those with another step, two that meet, and one store given twice. At least
// one must have the sequence and answer; those that do not are used when they do, and the first one
// that does is preferred.
func OpenAny(ctx context.Context, stores []store.Store, name string, o *Options) (*Any, error) {
	if o == nil {
		o = &Options{}
	}
	switch {
	case len(stores) == 0:
		return nil, fmt.Errorf("sequence %q: no store is given (%w)", name, lease.ErrInvalid)
	case o.Exact:
		return nil, fmt.Errorf("sequence %q: over several stores it takes ranges: leave out Exact (%w)", name,
			lease.ErrInvalid)
	}
	a := &Any{
		name: name, world: world.From(ctx), log: o.Logger,
		news: make(chan struct{}), closing: make(chan struct{}), gone: make(chan struct{}),
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.life, a.end = context.WithCancel(world.With(context.Background(), a.world))
	for i, st := range stores {
		a.members = append(a.members, &member{number: i + 1, store: st, ended: make(chan struct{})})
	}
	for _, m := range a.members {
		a.world.Go(func() { a.join(m) })
	}
	if err := a.gather(ctx); err != nil {
		_ = a.Close() // nothing was taken
		return nil, err
	}
	return a, nil
}

// gather waits until one store can be used, and all have answered or had time for it.
func (a *Any) gather(ctx context.Context) error {
	timeout := time.Duration(-1)
	for {
		a.mu.Lock()
		news, conflict, missing, opened := a.news, a.conflict, 0, (*Sequence)(nil)
		for _, m := range a.members {
			if !m.tried {
				missing++
			}
			if opened == nil {
				opened = m.seq
			}
		}
		a.mu.Unlock()
		switch {
		case conflict != nil:
			return conflict
		case opened == nil && missing == 0:
			return a.trouble()
		case missing == 0:
			a.cur.Store(opened)
			return nil
		case opened != nil:
			timeout = latecomers
		}
		switch a.world.Wait(timeout, news, ctx.Done()) {
		case 1:
			return fmt.Errorf("%w: %w", a.trouble(), ctx.Err())
		case -1:
			a.cur.Store(opened)
			return nil
		}
	}
}

// join opens the sequence in one store, as soon as that can be done.
func (a *Any) join(m *member) {
	defer close(m.ended)
	for failed := 0; ; failed++ {
		ctx, cancel := a.world.WithTimeout(a.life, callTimeout)
		s, err := openHeard(ctx, m.store, a.name, &Options{Logger: a.log}, func(err error) { a.hear(m, err) })
		cancel()
		if err == nil {
			a.enter(m, s)
			return
		}
		a.hear(m, err)
		pause := min(shortestPause<<min(failed, 10), longestAbsence)
		if a.world.Wait(pause/2+time.Duration(a.world.Uint64()%uint64(pause)), a.closing) == 0 {
			return
		}
	}
}

// hear notes what a store said, and wakes those who wait for it.
func (a *Any) hear(m *member, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if m.left != nil {
		return
	}
	if !m.tried {
		a.log.Warn("a store of a sequence is left out until it answers", "sequence", a.name, "store", m.number,
			"err", err)
	}
	m.tried, m.err = true, err
	if final(err) {
		m.refusals++
	}
	a.wake()
}

// wake ends the waiting for news. mu is held.
func (a *Any) wake() {
	close(a.news)
	a.news = make(chan struct{})
}

// enter lets a store be used that was opened, if its numbers are none of the others'. Two stores
// that meet are both left out, because nobody knows which of them is the right one.
func (a *Any) enter(m *member, s *Sequence) {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.wake()
	m.tried, m.seq = true, s
	if a.closed {
		a.leaveOut(m, ErrClosed)
		return
	}
	err := fit(a.name, m.number, s)
	for _, other := range a.members {
		if other == m || other.seq == nil || err != nil {
			continue
		}
		switch {
		case other.seq.way.step != s.way.step:
			err = fmt.Errorf("sequence %q: store %d has step %d, and store %d step %d: numbers would come twice: "+
				"leave out the store that is wrong (%w)", a.name, other.number, other.seq.way.step, m.number,
				s.way.step, lease.ErrRefused)
		case other.seq.way.meets(s.way):
			err = fmt.Errorf("sequence %q: store %d and store %d give out the same numbers, from %d and %d in steps "+
				"of %d: one is a copy of the other, or they are the same: leave one out (%w)", a.name, other.number,
				m.number, other.seq.way.start, s.way.start, s.way.step, lease.ErrRefused)
			a.leaveOut(other, err)
		}
	}
	if err != nil {
		a.conflict = err
		a.leaveOut(m, err)
		a.log.Error("stores of a sequence do not belong together", "sequence", a.name, "err", err)
	}
}

// fit refuses a sequence whose numbers rise over all programs, which those of two stores do not.
func fit(name string, number int, s *Sequence) error {
	if s.mode != Strict && s.known.Pattern == "" {
		return nil
	}
	return fmt.Errorf("sequence %q: store %d has a strict or dated one, and numbers of several stores have no order: "+
		"use Open with one store (%w)", name, number, lease.ErrRefused)
}

// leaveOut ends the use of a store. mu is held.
func (a *Any) leaveOut(m *member, err error) {
	s := m.seq
	left := make(chan struct{})
	m.seq, m.err, m.left = nil, err, left
	a.world.Go(func() { // it takes the mutex of s, and perhaps asks the store
		_ = s.Close()
		close(left)
	})
}
