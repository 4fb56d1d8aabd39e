package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// Open acquires a lease in a namespace of a store and keeps it. The
// namespace must exist unless Options.Create is set. Open waits for a free
// node only with Options.Wait. The errors to tell apart are [TakenError],
// [ErrMismatch], [ErrNoNamespace], [ErrSkew] and snowfence.ErrLifetime. ctx
// limits Open, not the lease.
func Open(ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, o *Options) (*Lease, error) {
	if err := fault.Check(st, namespace, s); err != nil {
		return nil, err
	}
	if o == nil {
		o = &Options{}
	}
	settings, err := o.settings(s).normal(s)
	if err != nil {
		return nil, err
	}
	w := world.From(ctx)
	r := o.reporter(w, namespace, settings.Logger)
	c := newClaim(newSetup(w, namespace, s, settings, r.report), st)
	unpin, err := pin(ctx, st, namespace)
	if err != nil {
		return nil, err
	}
	err = c.register(ctx)
	var g snowfence.Grant
	if err == nil {
		g, err = firstGrant(ctx, c.setup, c)
	}
	r.announce()
	if err != nil {
		unpin()
		return nil, err
	}
	l := newLease(c.setup, c, r, o.idle())
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
			if !s.Wait {
				return none, err
			}
			before, failures = err, 0
			wait = s.TTL/10 + s.backoff(8) // a holder may give back any time
			if errors.As(err, &taken) && taken.NextFree > 0 {
				wait = min(wait, taken.NextFree+s.backoff(0))
			}
			s.Logger.Info("waiting for a free node", "namespace", s.name, "label", s.Label, "cause", err)
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

// Keep opens n leases from a server, all or none, with the same options,
// and keeps each by itself. It is for servers that package remote does not
// reach. s is the scheme of the namespace. Keep ignores Options.Create,
// because servers make no namespace.
//
// After the first node it asks for the next ones: a server reads one record
// to see that such a node is free, and 64 to find any.
func Keep(
	ctx context.Context, server wire.Server, namespace string, s *snowfence.Scheme, n int, o *Options,
) ([]*Lease, error) {
	switch {
	case server == nil:
		return nil, errors.New("lease: the Server is nil")
	case s == nil:
		return nil, errors.New("lease: the Scheme is nil")
	}
	if err := fault.CheckName(namespace); err != nil {
		return nil, err
	}
	if o == nil {
		o = &Options{}
	}
	settings, err := o.settings(s).normal(s)
	if err == nil {
		err = o.many(n)
	}
	if err != nil || n == 0 {
		return nil, err
	}
	leases := make([]*Lease, n)
	if leases[0], err = keepNear(ctx, server, namespace, s, settings, o, nil); err == nil {
		g := leases[0].Status().Grant
		err = each(n-1, servedTogether, func(i int) (err error) {
			node := (g.Node + int64(i+1)*g.Nodes) % s.Nodes()
			leases[i+1], err = keepNear(ctx, server, namespace, s, leases[0].setup.settings, o, &node)
			return err
		})
	}
	if err != nil {
		leases = slices.DeleteFunc(leases, func(l *Lease) bool { return l == nil })
		closing, cancel := world.From(ctx).WithTimeout(context.WithoutCancel(ctx), closeWait)
		defer cancel()
		return nil, errors.Join(err, ShutdownAll(closing, leases))
	}
	return leases, nil
}

// servedTogether is how many leases are opened over a server at a time. A
// server puts the requests of one round trip together, and more would wait
// for it longer than their requests may.
const servedTogether = 256

// keepNear keeps one lease, and asks for a node first; nil means none.
func keepNear(
	ctx context.Context, server wire.Server, namespace string, s *snowfence.Scheme, n settings, o *Options, node *int64,
) (*Lease, error) {
	asked := n.TTL
	n.TTL, n.MaxSkew = cmp.Or(asked, scope.DefaultTTL), cmp.Or(n.MaxSkew, scope.DefaultTTL)
	w := world.From(ctx)
	r := o.reporter(w, namespace, n.Logger)
	c := &serverClaim{
		setup: newSetup(w, namespace, s, n, r.report), server: server, asked: asked, near: node,
		avoid: map[int64]bool{},
	}
	g, err := firstGrant(ctx, c.setup, c)
	r.announce()
	if err != nil {
		return nil, err
	}
	ttl := time.Duration(c.given.Load())
	c.TTL, c.ticks.ttl = ttl, ttl // nothing reads them before the lease begins
	l := newLease(c.setup, c, r, o.idle())
	l.begin(g)
	return l, nil
}
