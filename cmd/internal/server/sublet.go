package server

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/lessor"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
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
func (sp *Space) openUnit(ctx context.Context, within snowfence.NodeRange, life string) (*sublet.Server, error) {
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
		TTL: ns.MaxTTL, Nodes: int(ns.Unit), Within: within, Label: s.opts.Label, Logger: s.opts.Logger,
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

// renewals counts how renewals of subleases ended that reached this server.
type renewals struct{ renewed, forwarded, elsewhere, lost atomic.Int64 }

// Renewals calls each with how many renewals of subleases ended in which
// way. Those that were forwarded count once more at the server that
// answered them.
func (s *Leases) Renewals(each func(result string, n int64)) {
	r := &s.renewals
	each("renewed", r.renewed.Load())
	each("forwarded", r.forwarded.Load())
	each("elsewhere", r.elsewhere.Load())
	each("lost", r.lost.Load())
}

// countRenewal counts a renewal that this server answered.
func (s *Leases) countRenewal(l wire.Lease, err error) {
	switch {
	case l.Lessor == "":
	case err == nil:
		s.renewals.renewed.Add(1)
	case errors.Is(err, lease.ErrElsewhere):
		s.renewals.elsewhere.Add(1)
	case errors.Is(err, store.ErrLost):
		s.renewals.lost.Add(1)
	}
}

// Forwarded counts renewals that another server was asked for.
func (s *Leases) Forwarded(n int64, err error) {
	switch {
	case err == nil:
		s.renewals.forwarded.Add(n)
	case errors.Is(err, lease.ErrElsewhere):
		s.renewals.elsewhere.Add(n)
	}
}

// Lessor returns the id of another server that alone can renew a lease; ""
// if this one can.
func (s *Leases) Lessor(l wire.Lease) string {
	if id := lessor.IDOf(l); id != s.core.id {
		return id
	}
	return ""
}

// FromMemory reports whether a renewal asks no store: this server sublet
// the node.
func (s *Leases) FromMemory(l wire.Lease) bool {
	sp := (*s.spaces.ready.Load())[l.Namespace]
	return lessor.IDOf(l) == s.core.id && sp != nil && sp.isCurrent()
}
