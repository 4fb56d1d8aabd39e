package lease

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/claim"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/internal/ticket"
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
	o = cmp.Or(o, &Options{})
	settings, err := o.settings(s).Normal(s)
	if err != nil {
		return nil, err
	}
	unpin, err := claim.Pin(ctx, st, namespace)
	if err != nil {
		return nil, err
	}
	t, r := o.setup(ctx, namespace, s, settings)
	return open(ctx, t, claim.OverStore(t, st), r, o.idle(), unpin)
}

// open acquires the first grant of a claim, and keeps it.
func open(
	ctx context.Context, t *claim.Setup, c claim.Claim, r *reporter, idle time.Duration, unpin func(),
) (*Lease, error) {
	g, err := c.Open(ctx)
	r.announce()
	if err != nil {
		unpin()
		return nil, err
	}
	l := newLease(t, c, r, idle)
	l.unpin = unpin
	l.publish(g)
	l.pace.renewed = t.World.Now()
	l.pace.renewAt = l.next(l.pace.renewed)
	t.World.Go(l.keep)
	return l, nil
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
	o = cmp.Or(o, &Options{})
	settings, err := o.settings(s).Normal(s)
	switch {
	case err != nil:
		return nil, err
	case n < 0:
		return nil, fault.Invalidf("lease: opening %d leases: the number must not be negative", n)
	case n > 1 && o.Node != nil:
		return nil, fault.Invalidf("lease: opening %d leases: Options.Node is for one", n)
	case n == 0:
		return nil, nil
	}
	near := func(n claim.Settings, node *int64) (*Lease, error) { // asks for the node first; nil means any
		t, r := o.setup(ctx, namespace, s, n)
		return open(ctx, t, claim.OverServer(t, server, node), r, o.idle(), func() {})
	}
	leases := make([]*Lease, n)
	if leases[0], err = near(settings, nil); err == nil {
		g := leases[0].Status().Grant
		err = each(n-1, servedTogether, func(i int) (err error) {
			node := (g.Node + int64(i+1)*g.Nodes) % s.Nodes()
			leases[i+1], err = near(leases[0].setup.Settings, &node)
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

// Serve is for servers: it returns a [wire.Server], which leases nodes of a
// store to holders in other processes, in namespaces of a scheme. Of o it
// uses MaxSkew, Time, Create, Wait, Logger and Events, for the server
// itself. It keeps no state but its clock.
//
// A holder must do what a [Lease] does: renew every third of the TTL, stop
// at the end of its grant, and stop at once when a renewal is a
// [store.ErrLost]. A copied holder is noticed just as a copied [Lease] is.
//
// A ticket is signed with a key from the record of the namespace. The
// server refuses a changed ticket as lost. So a holder decides only about
// the ticks that it was granted: if it lies about its use, it can only
// repeat its own IDs.
func Serve(st store.Store, s *snowfence.Scheme, o *Options) wire.Server {
	o = cmp.Or(o, &Options{})
	n := o.settings(s)
	return claim.Serve(st, s, n, func(w world.World, namespace string) (claim.Report, func()) {
		r := &reporter{namespace: namespace, world: w, logger: n.Logger, announced: o.Events}
		return r.report, r.announce
	})
}

// ReadTicket returns the lease that a ticket stands for, for servers that
// look at a ticket before they act on it. It does not verify the ticket.
// Bytes that are no ticket are an [ErrInvalid].
func ReadTicket(b wire.Ticket) (wire.Lease, error) {
	t, err := ticket.Parse(b)
	if err != nil {
		return wire.Lease{}, err
	}
	return t.Lease(b), nil
}
