package server

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// HoldersFor returns the store for a caller who keeps leases itself. Only those who may manage a
// namespace get more: all of [Service.Store].
func (s *Service) HoldersFor(id *Identity) lease.Store { return &owned{s.holders, s, id} }

// owned puts the name of a caller's token in front of the labels that it writes, and takes it away
// again when the caller reads. It keeps the caller within its limit of nodes.
type owned struct {
	lease.Store

	service *Service
	id      *Identity
}

// Get implements [lease.Store].
func (o *owned) Get(ctx context.Context, keys []lease.Key) ([]lease.Record, error) {
	rs, err := o.Store.Get(ctx, keys)
	return o.shown(rs), err
}

// List implements [lease.Store].
func (o *owned) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]lease.Record, error) {
	rs, err := o.Store.List(ctx, namespace, nodes, limit)
	return o.shown(rs), err
}

func (o *owned) shown(rs []lease.Record) []lease.Record {
	for i := range rs {
		rs[i].Label = strings.TrimPrefix(rs[i].Label, o.id.labelOf(""))
	}
	return rs
}

// longestLabel is that of all stores.
const longestLabel = 128

// Swap implements [lease.Store].
func (o *owned) Swap(ctx context.Context, writes []lease.Write) []error {
	limit, err := o.id.nodeLimit()
	writes = slices.Clone(writes)
	at := map[string][]int{} // of the writes of a namespace
	for i := range writes {
		w := &writes[i].New
		at[w.Namespace] = append(at[w.Namespace], i)
		if w.Node == lease.NamespaceNode {
			continue
		}
		if w.Label = o.id.labelOf(w.Label); len(w.Label) > longestLabel {
			err = Errorf(Invalid, "node %d: its label has %d bytes with the name of the token in front, more than %d: "+
				"give the program a shorter one", w.Node, len(w.Label), longestLabel)
		}
	}
	switch {
	case err != nil:
		return slices.Repeat([]error{err}, len(writes))
	case limit == 0:
		return o.Store.Swap(ctx, writes)
	}
	errs := make([]error, len(writes))
	for name, at := range at {
		some := make([]lease.Write, len(at))
		for j, i := range at {
			some[j] = writes[i]
		}
		for j, err := range o.swapWithin(ctx, limit, name, some) {
			errs[at[j]] = err
		}
	}
	return errs
}

// swapWithin carries out writes of one namespace as far as they stay within a limit.
func (o *owned) swapWithin(ctx context.Context, limit int, namespace string, writes []lease.Write) []error {
	s, id := o.service, o.id
	fail := func(err error) []error { return slices.Repeat([]error{err}, len(writes)) }
	_, layout, err := s.layout(ctx, namespace)
	if err != nil {
		return fail(err)
	}
	keys := make([]lease.Key, len(writes))
	for i, w := range writes {
		keys[i] = w.New.Key
	}
	before, err := s.store.Get(ctx, keys)
	if err != nil {
		return fail(err)
	}
	// taking returns the writes that may give the caller a node that it did not hold: all but
	// renewals in time.
	taking := func() (list []int) {
		now := layout.TickOf(s.now())
		for i, w := range writes {
			if w.New.Node >= 0 && w.New.Holder != "" && !id.renews(before[i], w, now) {
				list = append(list, i)
			}
		}
		return list
	}
	errs := make([]error, len(writes))
	if takes := taking(); len(takes) > 0 {
		leave, err := id.enter(ctx)
		if err != nil {
			return fail(err)
		}
		defer leave()
		held, err := s.nodesOf(ctx, id, namespace)
		if err != nil {
			return fail(err)
		}
		for _, i := range takes {
			if node := writes[i].New.Node; !held[node] && len(held) >= limit {
				errs[i] = id.beyond(limit, namespace)
			} else {
				held[node] = true
			}
		}
	}
	o.swapRest(ctx, writes, errs)
	takes := slices.DeleteFunc(taking(), func(i int) bool { // a late renewal is one by now
		return errs[i] != nil && KindOf(errs[i]) != Unavailable // without an answer it may be there
	})
	if len(takes) == 0 {
		return errs
	}
	ctx, cancel := withStoreTimeout(context.WithoutCancel(ctx))
	defer cancel()
	if err := s.checkHeld(ctx, id, limit, namespace); err != nil {
		for _, i := range takes {
			errs[i] = errors.Join(err, s.takeBack(ctx, writes[i].New))
		}
	}
	return errs
}

// renews reports whether a write renews in time what the caller holds. It replaces the record that
// was read, or none: another one in between may have given the node back.
func (id *Identity) renews(old lease.Record, w lease.Write, now int64) bool {
	return old.Nonce == w.Old && old.Holder == w.New.Holder && old.Generation == w.New.Generation &&
		id.owns(old.Label) && old.Held(now)
}

// swapRest carries out the writes that have no error yet.
func (o *owned) swapRest(ctx context.Context, writes []lease.Write, errs []error) {
	var rest []lease.Write
	var at []int
	for i, w := range writes {
		if errs[i] == nil {
			rest, at = append(rest, w), append(at, i)
		}
	}
	if len(rest) > 0 {
		for j, err := range o.Store.Swap(ctx, rest) {
			errs[at[j]] = err
		}
	}
}

// takeBack takes a node back from a holder that was refused, which may have written again since.
func (s *Service) takeBack(ctx context.Context, taken lease.Record) error {
	rs, err := s.store.Get(ctx, []lease.Key{taken.Key})
	if err != nil || rs[0].Holder != taken.Holder {
		return err
	}
	_, err = lease.ReleaseNode(ctx, s.store, taken.Namespace, taken.Node)
	return err
}
