package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// Open implements [Claim].
func (c *storeClaim) Open(ctx context.Context) (snowfence.Grant, error) {
	if err := c.register(ctx); err != nil {
		return snowfence.Grant{}, err
	}
	return firstGrant(ctx, c.Setup, c)
}

// Open implements [Claim].
func (c *guestClaim) Open(ctx context.Context) (snowfence.Grant, error) {
	g, err := firstGrant(ctx, c.Setup, c)
	c.setTTL(c.LastTTL()) // nothing reads it before the lease begins
	return g, err
}

// firstGrant acquires for the opener of a lease. It waits for a free node
// if it may.
func firstGrant(ctx context.Context, s *Setup, c Claim) (none snowfence.Grant, _ error) {
	var before error // that all nodes were taken
	for failures := 0; ; failures++ {
		g, err := c.Next(ctx)
		if err == nil {
			return g, nil
		}
		if before != nil && ctx.Err() != nil {
			return none, fmt.Errorf("%w (%w)", before, ctx.Err())
		}
		wait := s.Backoff(failures)
		var taken *TakenError
		switch {
		case errors.Is(err, fault.ErrTaken):
			if !s.Wait {
				return none, err
			}
			before, failures = err, 0
			wait = s.TTL/10 + s.Backoff(8) // a holder may give back any time
			if errors.As(err, &taken) && taken.NextFree > 0 {
				wait = min(wait, taken.NextFree+s.Backoff(0))
			}
			s.Logger.Info("waiting for a free node", "namespace", s.Name, "label", s.Label, "cause", err)
		case !IsLost(err) && !errors.Is(err, store.ErrLost) || failures > 20:
			if ctx.Err() == nil {
				err = errors.Join(err, c.GiveBack(ctx, nil)) // what it may have left in the store
			}
			return none, err
		}
		if s.World.Wait(wait, ctx.Done()) == 0 {
			return none, fmt.Errorf("%w (%w)", err, ctx.Err())
		}
	}
}

// Pin has the store keep its files open for a lease.
func Pin(ctx context.Context, st store.Store, namespace string) (unpin func(), err error) {
	if unpin, err = st.Pin(ctx); err != nil {
		return nil, fmt.Errorf("lease: namespace %q: %w", namespace, err)
	}
	return unpin, nil
}

// register makes sure that the namespace exists, is for this
// scheme, and allows this lease's ttl and skew.
func (c *storeClaim) register(ctx context.Context) error {
	if err := c.create(ctx); err != nil {
		return err // the next read would ask for a namespace that we may create
	}
	ns, err := c.usable(ctx)
	if strings.Contains(ns.Identity+":", ":"+store.Closed+":") {
		c.Logger.Warn("the store does not tell this program all of its identity: older data that is put back "+
			"while no program runs may go unnoticed", "namespace", c.Name, "identity", ns.Identity)
	}
	return err
}

// readNamespace reads the namespace of the claim.
func (c *storeClaim) readNamespace(ctx context.Context) (scope.Namespace, error) {
	r, err := c.ask(ctx)
	if err != nil {
		return scope.Namespace{}, fmt.Errorf("lease: reading namespace %q: %w", c.Name, err)
	}
	return scope.ReadNamespace(c.st, r)
}

// create makes the namespace if it is missing, and the options say so.
func (c *storeClaim) create(ctx context.Context) error {
	if !c.Create {
		return nil
	}
	_, err := c.readNamespace(ctx)
	if errors.Is(err, fault.ErrNoNamespace) {
		_, err = scope.Namespaces(c.st).Create(ctx, c.Name, c.Scheme, c.creation())
	}
	return err
}

// usable returns the namespace if it gives grants to this lease. If its
// store was moved, usable raises the floor.
func (c *storeClaim) usable(ctx context.Context) (scope.Namespace, error) {
	for {
		ns, a, err := scope.Namespaces(c.st).Admit(ctx, c.Name, c.Scheme, c.fits)
		if err != nil {
			return ns, err
		}
		if c.last = &a; a.Identity == ns.Identity {
			return ns, nil
		}
		c.Report(Replaced, nil, "was", ns.Identity, "is", a.Identity)
		if err := c.raiseFloor(ctx, func(ns scope.Namespace, id string) bool { return ns.Identity == id }); err != nil {
			return scope.Namespace{}, err
		}
	}
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

// fit returns the ttl and the skew of a lease with these settings, or why
// the namespace refuses them.
func fit(ns scope.Namespace, o Settings) (ttl, skew time.Duration, err error) {
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
