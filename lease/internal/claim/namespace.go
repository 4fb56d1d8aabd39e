package claim

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease/internal/answer"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// readNamespace reads the namespace of the claim.
func (c *storeClaim) readNamespace(ctx context.Context) (scope.Namespace, error) {
	r, err := c.ask(ctx)
	if err != nil {
		return scope.Namespace{}, fmt.Errorf("lease: reading namespace %q: %w", c.Name, err)
	}
	return scope.ReadNamespace(c.st, r)
}

// namespaceAfter returns the namespace as it is after the last write.
func (c *storeClaim) namespaceAfter(ctx context.Context, h *hold) (scope.Namespace, error) {
	if h.namespace == nil {
		return c.readNamespace(ctx)
	}
	return scope.ReadNamespace(c.st, *h.namespace)
}

// ask asks the store for its identity and its time, with the record of the
// namespace.
func (c *storeClaim) ask(ctx context.Context) (store.Record, error) {
	rs, a, err := answer.Read(ctx, c.World, c.st, c.namespaceKey())
	if err != nil {
		return store.Record{}, err
	}
	c.last = &a
	return rs[0], nil
}

// clock returns the time for leasing ticks, or [fault.ErrSkew] if it and
// the store's differ by more than allowed. It asks once more before it says
// so: time may have stood still.
func (c *storeClaim) clock(ctx context.Context) (time.Time, error) {
	if c.last != nil {
		if now, err := c.last.Clock(c.World, c.Now, c.MaxSkew); err == nil {
			return now, nil
		}
	}
	if _, err := c.ask(ctx); err != nil {
		return time.Time{}, fmt.Errorf("lease: asking the store for its time: %w", err)
	}
	now, err := c.last.Clock(c.World, c.Now, c.MaxSkew)
	if err == nil {
		return now, nil
	}
	wall, wrong := c.last.Clock(c.World, c.Clock.Wall, c.MaxSkew)
	if wrong != nil {
		return now, err
	}
	c.correct(now.Sub(wall))
	return wall, nil
}

// fits settles the settings, and is an error if the namespace does not have
// such nodes.
func (c *storeClaim) fits(ns scope.Namespace) error {
	if err := c.fillSettings(ns); err != nil {
		return err
	}
	if c.unit != ns.Unit {
		return fmt.Errorf("lease: namespace %q: %w: it has a unit of %d nodes now, no longer %d: open the lease again",
			c.Name, fault.ErrMismatch, ns.Unit, c.unit)
	}
	if n := c.Node; n != nil && *n%ns.Unit != 0 {
		first := *n &^ (ns.Unit - 1)
		return fault.Invalidf("lease: namespace %q: node %d is inside a unit: a lease has all nodes %d to %d of it, "+
			"so ask for its first one", c.Name, *n, first, first+ns.Unit-1)
	}
	if n := ns.Nodes.Until - ns.Nodes.From; c.Node == nil && n < int64(c.Nodes) {
		return fault.Invalidf("lease: namespace %q has %d leasable nodes, fewer than a block of %d",
			c.Name, n, c.Nodes)
	}
	return nil
}

// fillSettings fills what the settings leave out: the default ttl and skew,
// or the namespace's limits if less, and a whole unit. It is an error if
// the namespace allows less, but not after a grant.
func (c *storeClaim) fillSettings(ns scope.Namespace) error {
	ttl, skew, err := ttlAndSkew(ns, c.Settings)
	if c.held == nil && c.lastBlock == nil {
		c.unit, c.Nodes = ns.Unit, max(c.Nodes, int(ns.Unit))
	} else {
		err = nil // each confirmation cuts both
	}
	if c.TTL == 0 || c.MaxSkew == 0 {
		c.TTL, c.MaxSkew, c.Ticks.TTL = ttl, skew, ttl
	}
	return err
}

// ttlAndSkew returns the ttl and the skew of a lease with these settings,
// or why the namespace refuses them.
func ttlAndSkew(ns scope.Namespace, o Settings) (ttl, skew time.Duration, err error) {
	ttl, skew = cmp.Or(o.TTL, min(scope.DefaultTTL, ns.MaxTTL)), cmp.Or(o.MaxSkew, min(scope.DefaultTTL, ns.MaxSkew))
	switch {
	case ttl > ns.MaxTTL:
		return ttl, skew, fault.Invalidf("lease: namespace %q: a ttl of %v is more than its longest, %v: take that "+
			"one, or raise it (snowfence namespace change %s --max-ttl %v)", ns.Name, ttl, ns.MaxTTL, ns.Name, ttl)
	case skew > ns.MaxSkew:
		return ttl, skew,
			fault.Invalidf("lease: namespace %q: a skew of %v is more than its largest, %v: take that one, or raise "+
				"it (snowfence namespace change %s --max-skew %v)", ns.Name, skew, ns.MaxSkew, ns.Name, skew)
	}
	return ttl, skew, nil
}
