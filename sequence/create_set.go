package sequence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// begin makes a new set. Only when all stores have acknowledged their parts does the first one
// become active, and then the others. Who goes on after a crash makes a set of its own, as long as
// nothing is active; it begins with the first store, too, so that of two at most one gets further.
func (c *creation) begin(ctx context.Context) error {
	for _, p := range c.places {
		if p.err != nil {
			return fmt.Errorf("in the beginning all stores must answer; store %d: %w", p.number, p.err)
		}
	}
	unfinished := ""
	for _, p := range c.places {
		unfinished += p.record.Nonce
	}
	if unfinished != c.waited { // somebody may be about to end it
		c.waited = unfinished
		pause := time.Second << min(c.waits, 6) // longer each time, so that one of several gets to the end
		c.waits++
		c.world.Wait(pause+time.Duration(c.world.Uint64()%uint64(pause)), ctx.Done())
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("sequence %q: somebody else is creating it: %w", c.name, err)
		}
		return errAgain
	}
	set := c.world.Text()
	for i, p := range c.places {
		s := share{Set: set, Class: int64(i), Classes: c.classes, Stores: int64(len(c.places)), Pending: true}
		if err := c.give(ctx, p, c.full, s); err != nil {
			return err
		}
	}
	for _, p := range c.places {
		if err := c.activate(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// extend ends what is left of a creation, and lets stores join that have no part yet.
func (c *creation) extend(ctx context.Context, set string) error {
	var failed []error
	for _, p := range c.places {
		var err error
		switch {
		case p.err != nil: // it does not answer: the others go on without it
		case p.vacant(set):
			err = c.join(ctx, set, p)
		case p.Pending || p.Deleted:
			err = c.activate(ctx, p)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...) // or errAgain
}

// join gives a store the next spare class of another one. The class is given away before it is
// used; after a crash in between it is lost.
func (c *creation) join(ctx context.Context, set string, p *place) error {
	for _, owner := range c.places {
		class, ok := owner.spare()
		if !ok || owner.err != nil {
			continue
		}
		owner.Given++
		if err := c.write(ctx, owner); err != nil {
			return err
		}
		id, err := owner.store.Identity(ctx, owner.record.Namespace)
		if err != nil {
			return fmt.Errorf("sequence %q in store %d: %w", c.name, owner.number, err)
		}
		if id != owner.Identity && owner.AfterFailover != Trust {
			continue // it may have forgotten that it gave this class away
		}
		return c.give(ctx, p, owner.Definition, share{Set: set, Class: class, Classes: c.classes, Stores: owner.Stores})
	}
	return fmt.Errorf("sequence %q: no class is left for store %d, of %d: leave it out, or add one of the first "+
		"stores that still has a class to give; else make another sequence, which starts above (%w)", c.name,
		p.number, c.classes, lease.ErrRefused)
}

// give makes the record of a store. Its generation is random, so that programs which knew a record
// that was lost there cannot take from this one.
func (c *creation) give(ctx context.Context, p *place, d Definition, s share) error {
	p.record.Key = keyOf(c.name)
	id, err := p.store.Identity(ctx, p.record.Namespace)
	if err != nil {
		return fmt.Errorf("sequence %q in store %d: %w", c.name, p.number, err)
	}
	p.stored = stored{Definition: d, Identity: id, share: s}
	p.record.Generation = int64(c.world.Uint64() >> 12)
	return c.write(ctx, p)
}

func (c *creation) activate(ctx context.Context, p *place) error {
	p.Pending, p.Deleted = false, false
	return c.write(ctx, p)
}

func (c *creation) write(ctx context.Context, p *place) (err error) {
	ctx, cancel := c.world.WithTimeout(ctx, callTimeout)
	defer cancel()
	if p.state, err = p.state.write(ctx, p.store); errors.Is(err, lease.ErrLost) {
		return errAgain
	}
	if err != nil {
		return fmt.Errorf("store %d: %w", p.number, err)
	}
	return nil
}
