package claim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

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
		switch {
		case errors.Is(err, fault.ErrTaken):
			if !s.Wait {
				return none, err
			}
			before, failures = err, 0
			wait = s.TTL/10 + s.Backoff(8) // a holder may give back any time
			if taken, ok := errors.AsType[*TakenError](err); ok && taken.NextFree > 0 {
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

// Pin has the store keep its files open for a lease. unpin may be called
// again.
func Pin(ctx context.Context, st store.Store, namespace string) (unpin func(), err error) {
	if unpin, err = st.Pin(ctx); err != nil {
		return nil, fmt.Errorf("lease: namespace %q: %w", namespace, err)
	}
	return sync.OnceFunc(unpin), nil
}

// register makes sure that the namespace exists, is for this scheme, and
// allows this lease's ttl and skew.
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
