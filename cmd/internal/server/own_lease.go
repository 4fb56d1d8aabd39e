package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/lessor"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// OwnLease is the server's own lease in a namespace, and the generator over
// it. It is acquired for the first ID, or to be ready. All methods are safe
// for concurrent use.
type OwnLease struct {
	core     *Core
	space    *Space
	gen      atomic.Pointer[snowfence.Generator] // nil until the lease
	warnTick atomic.Int64                        // first tick of the grant that WarnLater told of

	openTurn chan struct{}               // semaphore of one: hold it to call the store or to set what follows
	lease    atomic.Pointer[lease.Lease] // to be read without openTurn, too
	failure  failure
}

// Generator returns the generator of the namespace, and leases its nodes at
// the first call.
func (own *OwnLease) Generator(ctx context.Context) (*snowfence.Generator, error) {
	if g := own.gen.Load(); g != nil {
		return g, nil
	}
	ctx, cancel := WithStoreTimeout(ctx)
	defer cancel()
	err := lessor.Outlive(ctx, own.openTurn, own.open)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("namespace %q: waiting for the server's own lease: %w", own.space.Name, err)
	}
	return own.gen.Load(), err
}

// open begins the lease, unless that was done. The caller has openTurn.
func (own *OwnLease) open(ctx context.Context) error {
	now := own.core.now()
	switch {
	case own.gen.Load() != nil:
		return nil
	case own.space.stale.Load():
		return own.space.changedError()
	case own.failure.err != nil && now.Before(own.failure.until):
		return own.failure.err
	}
	g, err := own.startGenerator(ctx)
	if err != nil {
		own.failure = failure{err, now.Add(failureTTL)}
		return err
	}
	own.gen.Store(g)
	if !own.space.stale.Load() {
		return nil
	}
	// Close may have had no time to wait for this.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	return errors.Join(own.space.changedError(), own.endLeases(stop))
}

// failure is why the last attempt failed. It is told again for a moment, so
// that many callers do not each ask the store.
type failure struct {
	err   error
	until time.Time
}

// failureTTL is how long a failure is told again.
const failureTTL = 200 * time.Millisecond

// startGenerator leases nodes and makes a generator on them.
func (own *OwnLease) startGenerator(ctx context.Context) (*snowfence.Generator, error) {
	if err := own.core.checkRecord(ctx); err != nil {
		return nil, err
	}
	ns, err := scope.Namespaces(own.core.store).Show(ctx, own.space.Name)
	if err != nil {
		if errors.Is(err, lease.ErrNoNamespace) {
			own.space.spaces.forgetSpace(own.space)
		}
		return nil, err
	}
	o, s := own.core.opts, own.space.scheme.Load()
	within, err := own.space.settingNodes(ctx, s)
	if err != nil {
		return nil, err
	}
	nodes := blockSize(o.Block, ns)
	for o.Block == 0 && nodes > 1 && within.Until > 0 && int64(nodes) > within.Until-within.From {
		nodes /= 2
	}
	l, err := own.openBlock(ctx, s, ns, within, nodes)
	// Single leases of others may leave no block of that length although
	// most nodes are free. Fewer nodes make fewer IDs a tick, but they make
	// some.
	for o.Block == 0 && nodes > 1 && errors.As(err, new(*lease.TakenError)) {
		nodes /= 2
		l, err = own.openBlock(ctx, s, ns, within, nodes)
	}
	if errors.Is(err, lease.ErrMismatch) || errors.Is(err, lease.ErrNoNamespace) {
		own.space.spaces.forgetSpace(own.space) // it has another layout by now, or is gone
	}
	if errors.Is(err, lease.ErrMismatch) {
		return nil, own.space.changedError()
	}
	if err != nil {
		return nil, err
	}
	g, err := snowfence.New(snowfence.Config{
		Fence: l, Lead: o.Lead, Spread: own.spreadFor(s), MaxWait: o.MaxWait, Coarse: true,
	})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	own.lease.Store(l)
	own.space.moved.Store(false)
	go func() {
		<-l.Done()
		own.space.moved.Store(errors.Is(l.Err(), store.ErrMoved))
		own.space.noteLoss(l.Err())
	}()
	return g, nil
}

// spreadFor returns the namespace's setting, unless its layout has no use
// for it any more: IDs matter more than where they fall.
func (own *OwnLease) spreadFor(s *snowfence.Scheme) int64 {
	n := own.core.opts.Spread[own.space.Name]
	if err := s.Layout().CheckSpread(n); err != nil {
		own.core.opts.Logger.Warn("IDs are made without the spread of the settings",
			"namespace", own.space.Name, "cause", err)
		return 0
	}
	return n
}

// openBlock leases a block of nodes, with the ttl of the settings or the
// longest of the namespace.
func (own *OwnLease) openBlock(
	ctx context.Context, s *snowfence.Scheme, ns scope.Namespace, within snowfence.NodeRange, block int,
) (*lease.Lease, error) {
	o := own.core.opts
	if o.TTL > ns.MaxTTL {
		o.Logger.Warn(fmt.Sprintf("the ttl is longer than the namespace allows, so its longest one is used: "+
			"to allow more, run snowfence namespace change %s --max-ttl %v", own.space.Name, o.TTL),
			"ttl", o.TTL, "max_ttl", ns.MaxTTL)
	}
	lo := &lease.Options{TTL: min(o.TTL, ns.MaxTTL), Nodes: block, Within: within, Label: o.Label, Logger: o.Logger}
	if o.Unit == nil {
		return lease.Open(ctx, own.core.store, own.space.Name, s, lo)
	}
	lo.Nodes = 1
	all, err := lease.Keep(ctx, own.space.lessor, own.space.Name, s, 1, lo)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// blockSize returns how many nodes of a namespace a server leases for
// itself.
func blockSize(want int, ns scope.Namespace) int {
	if want > 0 {
		return want
	}
	n := 1
	for n < 16 && int64(n)*2*64 <= ns.Nodes.Until-ns.Nodes.From {
		n *= 2
	}
	return n
}

// Status returns the hold of the server's own lease, and false when it has
// none.
func (own *OwnLease) Status() (lease.Status, bool) {
	l := own.lease.Load()
	if l == nil {
		return lease.Status{}, false
	}
	return l.Status(), true
}

// giveBack returns the nodes with which the server makes IDs.
func (own *OwnLease) giveBack(ctx context.Context) error {
	select {
	case own.openTurn <- struct{}{}:
		defer func() { <-own.openTurn }()
	case <-ctx.Done():
		return fmt.Errorf("namespace %q: %w", own.space.Name, ctx.Err())
	}
	return own.endLeases(ctx)
}

// endLeases closes the generator and the lease. The caller has openTurn.
func (own *OwnLease) endLeases(ctx context.Context) error {
	l := own.lease.Load()
	if l == nil {
		return nil
	}
	err := own.gen.Load().Shutdown(ctx)
	return errors.Join(err, l.Shutdown(ctx))
}

// holdsNode reports whether the server's own lease has a node.
func (own *OwnLease) holdsNode(node int64) bool {
	g := own.gen.Load()
	if g == nil {
		return false
	}
	gr, ok := g.Grant()
	return ok && node >= gr.Node && node < gr.Node+max(gr.Nodes, 1)
}
