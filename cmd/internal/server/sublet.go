package server

import (
	"context"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/sublet"
	"github.com/snowfence/snowfence/lease/wire"
)

// nodeStore leases nodes to clients that are not sublet.
type nodeStore struct {
	wire.Server // over the store
	core        *Core
}

// Acquire implements [wire.Server].
func (n nodeStore) Acquire(ctx context.Context, namespace string, r wire.Request) (none wire.Lease, _ error) {
	if n.core.opts.Unit != nil {
		return none, Errorf(Invalid, "an agent leases single nodes of its units, and you cannot choose the number: "+
			"ask for any node, or ask its server")
	}
	if err := n.core.checkRecord(ctx); err != nil {
		return none, err
	}
	return n.Server.Acquire(ctx, namespace, r)
}

// openUnit leases a unit for subleases, for as long as the namespace
// allows: holders have two thirds of that.
func (sp *Space) openUnit(
	ctx context.Context, within snowfence.NodeRange, life string,
) (*sublet.Server, error) {
	s := sp.core
	if s.opts.Unit != nil {
		return s.opts.Unit(ctx, within, life)
	}
	if err := s.checkRecord(ctx); err != nil {
		return nil, err
	}
	ns, err := scope.Namespaces(s.store).Show(ctx, sp.Name)
	if err == nil && within == (snowfence.NodeRange{}) {
		within, err = sp.settingNodes(ctx, sp.Scheme())
	}
	if err != nil {
		return nil, err
	}
	l, err := lease.Open(ctx, s.store, sp.Name, sp.Scheme(), &lease.Options{
		TTL: ns.MaxTTL, Nodes: int(ns.Unit), Within: within, Label: s.opts.Label, Logger: s.opts.Logger, Idle: -1,
	})
	if err != nil {
		return nil, err
	}
	return sublet.New(l, life)
}

// noteLoss opens the namespace anew after a lease in it ended by itself.
func (sp *Space) noteLoss(err error) {
	if !sp.stale.Load() {
		sp.core.opts.Logger.Warn("a namespace ended", "namespace", sp.Name, "cause", err)
	}
	sp.spaces.forgetSpace(sp)
}

// endLessor gives units back in the background. Holders go on to the end of
// their grants.
func (sp *Space) endLessor() {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	go func() {
		defer cancel()
		_ = sp.lessor.Close(ctx) // what is not given back runs out
	}()
}
