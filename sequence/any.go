package sequence

import (
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// several is independent stores, of which one answer is enough. Each has an
// ordinary sequence of the name. With n stores or more to come, the first
// one starts at 1, the second one at 2, and so on, and each has the step n:
// so no two give out one number, whatever the stores lose.
type several struct {
	*facts            // the state is that of the store in use
	numbers *Sequence // that takes of them
	members []*member // in the order of the stores

	// Guarded by mu.
	cur      int           // the store in use
	news     chan struct{} // closed when a store answers
	conflict error         // two stores that may not be used together were found
	asking   bool          // a take is under way, which gets what stores answer
	ended    bool
}

// member is a store of several.
type member struct {
	*plain
	number int // from 1, for errors

	// Guarded by the mutex of several. The goroutine that asks a busy store
	// alone uses its record.
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
	a := &several{facts: newFacts(ctx, name, o), news: make(chan struct{})}
	a.numbers = newSequence(a.facts, a)
	for i, st := range stores {
		a.members = append(a.members, &member{plain: newPlain(ctx, st, name, o), number: i + 1})
	}
	first, err := a.openFirst(ctx)
	if err != nil {
		a.close(ctx)
		return nil, err
	}
	a.lastState = first.lastState
	a.numbers.start(false, a.close)
	return a.numbers, nil
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
		switch a.world.Wait(timeout, news, ctx.Done()) {
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
	a.world.Go(func() {
		ctx, cancel := a.world.WithTimeout(a.numbers.life, callTimeout)
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
		a.dropLate()
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
	unpin, err := m.open(ctx)
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
			a.numbers.dropHeld()
		}
	}
	if err != nil {
		a.conflict, m.out, m.err = err, true, err
	}
	return err
}
