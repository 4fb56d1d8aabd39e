package server

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// leases is the [wire.Server] of a namespace for clients. Single nodes of a namespace with units
// are sublet from memory, and everything else is leased from the store.
type leases struct {
	sp    *Space
	store wire.Server
}

// sublets reports whether a request is answered from memory.
func (sp *Space) sublets(r wire.Request) bool {
	return sp.unit.Load() > 1 && r.Node == nil && r.Nodes <= 1
}

// Acquire implements [wire.Server].
func (v *leases) Acquire(ctx context.Context, namespace string, r wire.Request) (wire.Lease, error) {
	if v.sp.sublets(r) {
		return v.sp.lessor.Acquire(ctx, namespace, r)
	}
	if v.sp.service.opts.Unit != nil {
		return wire.Lease{}, Errorf(Invalid, "an agent hands out single nodes, and none by its number: ask its "+
			"server, or use its store")
	}
	if err := v.sp.service.look(ctx); err != nil {
		return wire.Lease{}, err
	}
	return v.store.Acquire(ctx, namespace, r)
}

// Renew implements [wire.Server].
func (v *leases) Renew(ctx context.Context, t wire.Ticket, attempt string, earlier []string) (wire.Lease, error) {
	s, err := v.of(t)
	if err != nil {
		return wire.Lease{}, err
	}
	return s.Renew(ctx, t, attempt, earlier)
}

// Release implements [wire.Server].
func (v *leases) Release(ctx context.Context, t wire.Ticket, used int64) error {
	s, err := v.of(t)
	if err != nil {
		return err
	}
	return s.Release(ctx, t, used)
}

// of returns who knows the lease of a ticket.
func (v *leases) of(t wire.Ticket) (wire.Server, error) {
	l, err := lease.ReadTicket(t)
	if err != nil || l.Lessor == "" {
		return v.store, err
	}
	return v.sp.lessor, nil
}

// openUnit leases a unit whose nodes are sublet, for as long as the namespace allows: holders have
// two thirds of that.
func (sp *Space) openUnit(
	ctx context.Context, within snowfence.NodeRange, life string,
) (*lease.Sublets, error) {
	s := sp.service
	if s.opts.Unit != nil {
		return s.opts.Unit(ctx, within, life)
	}
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	ns, err := lease.Namespaces(s.store).Show(ctx, sp.Name)
	if err == nil && within == (snowfence.NodeRange{}) {
		within, err = sp.within(ctx, sp.Scheme())
	}
	if err != nil {
		return nil, err
	}
	l, err := lease.Open(ctx, s.store, sp.Name, sp.Scheme(), &lease.Options{
		TTL: ns.MaxTTL, Nodes: int(ns.Unit), Within: within, Label: s.opts.Label, Logger: s.opts.Logger, Idle: -1,
		Events: s.onLeaseEvent,
	})
	if err != nil {
		return nil, err
	}
	return l.Sublet(&lease.SubletOptions{Life: life})
}

// lostUnit opens the namespace anew after a lease of a unit ended by itself.
func (sp *Space) lostUnit(err error) {
	if !sp.stale.Load() {
		sp.service.opts.Logger.Warn("a namespace ended", "namespace", sp.Name, "cause", err)
		sp.service.Events.Add(Event{Kind: "ended", Namespace: sp.Name, Text: err.Error()})
	}
	sp.service.forget(sp)
}

// endLessor gives units back in the background. Holders go on to the end of their grants.
func (sp *Space) endLessor() {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	go func() {
		defer cancel()
		_ = sp.lessor.Close(ctx) // what is not given back runs out
	}()
}

// renewals counts how renewals of subleases ended that reached this server.
type renewals struct{ renewed, forwarded, elsewhere, lost atomic.Int64 }

// Renewals calls each with how many renewals of subleases ended in which way. Those that were
// forwarded count once more at the server that answered them.
func (s *Service) Renewals(each func(result string, n int64)) {
	r := &s.renewals
	each("renewed", r.renewed.Load())
	each("forwarded", r.forwarded.Load())
	each("elsewhere", r.elsewhere.Load())
	each("lost", r.lost.Load())
}

// renewed counts a renewal that this server answered.
func (s *Service) renewed(l wire.Lease, err error) {
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
func (s *Service) Forwarded(n int64, err error) {
	switch {
	case err == nil:
		s.renewals.forwarded.Add(n)
	case errors.Is(err, lease.ErrElsewhere):
		s.renewals.elsewhere.Add(n)
	}
}
