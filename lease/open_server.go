package lease

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/wire"
)

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
	if err := checkName(namespace); err != nil {
		return nil, err
	}
	opts, err := o.normal(s)
	if err == nil {
		err = o.many(n)
	}
	if err != nil || n == 0 {
		return nil, err
	}
	leases := make([]*Lease, n)
	if leases[0], err = keepNear(ctx, server, namespace, s, opts, nil); err == nil {
		g := leases[0].Status().Grant
		err = each(n-1, servedTogether, func(i int) (err error) {
			node := (g.Node + int64(i+1)*g.Nodes) % s.Nodes()
			leases[i+1], err = keepNear(ctx, server, namespace, s, leases[0].opts, &node)
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
	ctx context.Context, server wire.Server, namespace string, s *snowfence.Scheme, opts Options, node *int64,
) (*Lease, error) {
	asked := opts.TTL
	opts.TTL, opts.MaxSkew = cmp.Or(asked, usual.ttl), cmp.Or(opts.MaxSkew, usual.skew)
	c := &serverClaim{
		setup: newSetup(world.From(ctx), namespace, s, opts), server: server, asked: asked, near: node,
		avoid: map[int64]bool{},
	}
	g, err := firstGrant(ctx, c.setup, c)
	c.announce()
	if err != nil {
		return nil, err
	}
	ttl := time.Duration(c.given.Load())
	c.opts.TTL, c.ticks.ttl = ttl, ttl // nothing reads them before the lease begins
	l := newLease(c.setup, c)
	l.begin(g)
	return l, nil
}
