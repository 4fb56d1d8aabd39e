package sequence

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
)

// CreateAny makes a sequence over several stores that know nothing of each other, such as five
// Redis servers: programs take numbers from whichever answers (see [OpenAny]). It is for fast and
// dense sequences, because numbers of different stores have no order.
//
// Each store has a class, and gives out the numbers of that class only. How many classes there are
// never changes: with more classes than stores, others can join later. For that, call CreateAny
// with the same definition, the new store, and any of the first ones. A store that lost its data
// joins as a new one, because a class never goes to a second store.
//
// In the beginning all stores must answer; if one does not, repeat the call. Later CreateAny leaves
// out those that do not answer.
func CreateAny(ctx context.Context, stores []lease.Store, name string, d Definition, classes int64) error {
	full, whole, err := d.completed()
	if err == nil {
		_, err = whole.part(0, classes)
	}
	switch {
	case full.Mode == Strict:
		err = fmt.Errorf("numbers of several stores have no order: use one store, or another mode than strict (%w)",
			lease.ErrInvalid)
	case full.Pattern != "":
		err = fmt.Errorf("numbers of several stores have no order, and those of a period rise: use one store, or no "+
			"pattern (%w)", lease.ErrInvalid)
	case len(stores) < 1 || int64(len(stores)) > classes:
		err = fmt.Errorf("%d stores and %d classes: each store needs a class (%w)", len(stores), classes,
			lease.ErrInvalid)
	}
	if err != nil {
		return fmt.Errorf("sequence %q: %w", name, err)
	}
	c := creation{world: world.From(ctx), name: name, wanted: d, full: full, classes: classes}
	for i, st := range stores {
		c.places = append(c.places, &place{number: i + 1, store: st})
	}
	for {
		if err := c.attempt(ctx); !errors.Is(err, errAgain) {
			return err
		}
	}
}

// creation is a call of CreateAny.
type creation struct {
	world   world.World
	name    string
	wanted  Definition
	full    Definition // with every default written out
	classes int64
	places  []*place
	waited  string // nonces of somebody's unfinished creation that was waited for
	waits   int    // how often
}

// place is a store, and what it was found to have.
type place struct {
	number int // from 1, for errors
	store  lease.Store
	state
	err error // why nothing is known of it
}

// vacant reports whether the store has no part of the set, and may get one.
func (p *place) vacant(set string) bool { return p.record.Nonce == "" || p.Pending && p.Set != set }

// errAgain means that somebody else wrote meanwhile.
var errAgain = errors.New("somebody was faster")

// attempt looks at all stores, and does what is left to do.
func (c *creation) attempt(ctx context.Context) error {
	together(c.world, len(c.places), func(i int) {
		p := c.places[i]
		ctx, cancel := c.world.WithTimeout(ctx, callTimeout)
		defer cancel()
		if p.state, p.err = read(ctx, p.store, c.name); errors.Is(p.err, ErrNoSequence) {
			p.err = nil
		}
	})
	set, err := c.agree()
	switch {
	case err != nil:
		return err
	case set != "":
		return c.extend(ctx, set)
	}
	return c.begin(ctx)
}

// agree returns the set that the stores have, "" if none gives numbers yet.
func (c *creation) agree() (set string, err error) {
	classes, nonces := map[int64]int{}, map[string]int{}
	for _, p := range c.places {
		if p.err != nil || p.record.Nonce == "" {
			continue
		}
		if other := nonces[p.record.Nonce]; other != 0 {
			return "", fmt.Errorf("sequence %q: store %d and store %d are the same: give each store once (%w)", c.name,
				other, p.number, lease.ErrInvalid)
		}
		nonces[p.record.Nonce] = p.number
		if p.Pending {
			continue
		}
		different := ""
		switch other := classes[p.Class]; {
		case p.Classes == 0:
			different = "it is of that store alone"
		case set != "" && p.Set != set:
			return "", errSets(c.name, p.number)
		case other != 0:
			return "", errTwins(c.name, p.Class, other, p.number)
		case p.Classes != c.classes:
			different = fmt.Sprintf("it has %d classes, not %d", p.Classes, c.classes)
		default:
			different = p.differs(c.wanted, c.full)
		}
		if different != "" {
			return "", fmt.Errorf("sequence %q in store %d: %s: max, ranges and what follows a failover can be "+
				"changed in each store; for all else make another sequence, which starts above (%w)", c.name,
				p.number, different, lease.ErrExists)
		}
		set, classes[p.Class] = p.Set, p.number
	}
	return set, nil
}

func errSets(name string, number int) error {
	return fmt.Errorf("sequence %q: store %d has another set than the other stores, so that both give out the same "+
		"numbers: they were created apart: find out which set is used, and leave out the stores of the other (%w)",
		name, number, lease.ErrRefused)
}

func errTwins(name string, class int64, a, b int) error {
	return fmt.Errorf("sequence %q: store %d and store %d both have class %d, so that they give out the same numbers: "+
		"one is a copy of the other, or they are the same: leave one out (%w)", name, a, b, class, lease.ErrRefused)
}

// together runs f(0) to f(n-1) at the same time.
func together(w world.World, n int, f func(i int)) {
	done := make(chan struct{}, n)
	for i := range n {
		w.Go(func() {
			f(i)
			done <- struct{}{}
		})
	}
	for range n {
		w.Wait(-1, done)
	}
}
