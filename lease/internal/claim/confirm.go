package claim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// confirm decides whether an acknowledged write may be used: only if it was
// made for the present namespace and store. Its ticks may be used up to
// until, or to where the namespace's limits reach from now, the time before
// the write, if that is less. What an earlier confirmation allowed stays
// allowed.
//
// Invariant: a confirmation that sees lowered limits grants nothing beyond
// them, however late that is.
func (c *storeClaim) confirm(ctx context.Context, until int64, now time.Time) (none snowfence.Grant, err error) {
	h := c.held
	ns, err := c.namespaceAfter(ctx, h) // and c.last, the answer that it came with
	if err != nil {
		return none, c.loseIfGone(err)
	}
	// After a rollback another generation can have the same number. An
	// acquisition that began before it used another floor.
	if ns.Generation == h.generation && !h.confirmed && ns.Floor != h.floor {
		return none, c.lose(fmt.Errorf("namespace %q was changed: its floor is tick %d, no longer %d",
			c.Name, ns.Floor, h.floor))
	}
	if ns.Generation != h.generation || ns.State != scope.Active {
		if ns.Generation < h.generation {
			c.lossAfter, c.lossProven = &h.generation, true
		}
		return none, c.lose(fmt.Errorf("namespace %q was changed: it is %s in generation %d, no longer %d",
			c.Name, ns.State, ns.Generation, h.generation))
	}
	// A node is recorded before its holder is evicted. A holder that took
	// it in between learns it here.
	if err := ns.OfLeases(h.records[0].Node, c.nodes(h)); err != nil {
		return none, c.lose(err)
	}
	id := c.last.Identity
	same, err := ns.Identify(id)
	switch {
	case err != nil:
		return none, err
	case !same:
		c.lossAfter = &h.generation
		return none, c.lose(fmt.Errorf("the store was %q and is %q now", ns.Identity, id))
	}
	if err := c.last.Follows(h.replied); err != nil {
		return none, fmt.Errorf("lease: namespace %q: %w", c.Name, err)
	}
	if c.MaxSkew > ns.MaxSkew { // it was lowered, and now may be further off
		c.MaxSkew = ns.MaxSkew
		if _, err := c.last.Clock(c.World, c.Now, c.MaxSkew); err != nil {
			return none, err
		}
	}
	if id != ns.Identity { // it names more sources
		if err := ns.NoteIdentity(ctx, c.st, id); err != nil && !errors.Is(err, store.ErrLost) {
			return none, err
		}
	}
	h.confirmed, c.identity, c.lastBlock = true, id, keys(h.records)
	h.until = max(h.until, h.from, min(until, c.reach(ns, now)))
	c.noteReach(h.from, h.until)
	return snowfence.Grant{Node: h.records[0].Node, From: h.from, Until: h.until, Nodes: c.nodes(h)}, nil
}

// reach returns the first tick that no lease may use at time now: the
// longest ttl of the namespace ahead, rounded up by two ticks.
func (c *storeClaim) reach(ns scope.Namespace, now time.Time) int64 {
	return max(c.Ticks.Layout.TickOf(now.Add(ns.MaxTTL)), 0) + 2
}
