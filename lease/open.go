package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// Open acquires a lease in a namespace of a store and keeps it. The
// namespace must exist unless Options.Create is set. Open waits for a free
// node only with Options.Wait. The errors to tell apart are [TakenError],
// [ErrMismatch], [ErrNoNamespace], [ErrSkew] and snowfence.ErrLifetime. ctx
// limits Open, not the lease.
func Open(ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, o *Options) (*Lease, error) {
	if err := check(st, namespace, s); err != nil {
		return nil, err
	}
	opts, err := o.normal(s)
	if err != nil {
		return nil, err
	}
	c := newClaim(newSetup(world.From(ctx), namespace, s, opts), st)
	unpin, err := pin(ctx, st, namespace)
	if err != nil {
		return nil, err
	}
	err = c.register(ctx)
	var g snowfence.Grant
	if err == nil {
		g, err = firstGrant(ctx, c.setup, c)
	}
	c.announce()
	if err != nil {
		unpin()
		return nil, err
	}
	l := newLease(c.setup, c)
	l.unpin = unpin
	l.begin(g)
	return l, nil
}

// firstGrant acquires for the opener of a lease. It waits for a free node
// if it may.
func firstGrant(ctx context.Context, s *setup, c claim) (none snowfence.Grant, _ error) {
	var before error // that all nodes were taken
	for failures := 0; ; failures++ {
		g, err := c.next(ctx)
		if err == nil {
			return g, nil
		}
		if before != nil && ctx.Err() != nil {
			return none, fmt.Errorf("%w (%w)", before, ctx.Err())
		}
		wait := s.backoff(failures)
		var taken *TakenError
		switch {
		case errors.Is(err, ErrTaken):
			if !s.opts.Wait {
				return none, err
			}
			before, failures = err, 0
			wait = s.opts.TTL/10 + s.backoff(8) // a holder may give back any time
			if errors.As(err, &taken) && taken.NextFree > 0 {
				wait = min(wait, taken.NextFree+s.backoff(0))
			}
			s.opts.Logger.Info("waiting for a free node", "namespace", s.name, "label", s.opts.Label, "cause", err)
		case !isLost(err) && !errors.Is(err, store.ErrLost) || failures > 20:
			if ctx.Err() == nil {
				err = errors.Join(err, c.giveBack(ctx, nil)) // what it may have left in the store
			}
			return none, err
		}
		if s.world.Wait(wait, ctx.Done()) == 0 {
			return none, fmt.Errorf("%w (%w)", err, ctx.Err())
		}
	}
}
