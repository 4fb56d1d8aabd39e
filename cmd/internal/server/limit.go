package server

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/lessor"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/wire"
)

// A token may have a limit of the nodes of a namespace that nobody but its
// clients can use at a time. Labels of nodes begin with the token's name,
// so the store has the users of nodes, and no server remembers them.
//
// The rule: a request that takes a node counts in the store afterwards, and
// takes the node back if that is too many. No client gets a grant before
// the count. A node whose lease has ended counts while it has its holder,
// which may still renew: the request evicts such holders to make room. Of
// all kept grants, the last write counted all others, so they are never
// more than the limit, however many servers there are and whatever their
// clocks say. Renewals count nothing.
//
// Servers that take the last free place at the same time may both take it
// back: the caller asks again. A grant is kept without a count only if its
// server dies, or its store fails, in between.
//
// Subleases are not in the store. Each server counts its own, apart from
// leases of the store and by its clock, so the limit holds for each server.
// A sublease that had ended counts again when it is renewed.

// labelOf is the label of a node that a caller without the verb manage
// holds.
func (id *Identity) labelOf(label string) string { return id.Name + "/" + label }

// ownsLabel reports whether a label is of this caller.
func (id *Identity) ownsLabel(label string) bool { return strings.HasPrefix(label, id.labelOf("")) }

// OwnerOf returns the name of the token in the label of a node; "" where
// there is none.
func OwnerOf(label string) string {
	name, _, ok := strings.Cut(label, "/")
	if !ok {
		return ""
	}
	return name
}

// nodeLimit returns how many nodes the caller may hold in a namespace; 0
// means any number.
func (id *Identity) nodeLimit() (int, error) {
	r, err := id.presentRights()
	if err != nil {
		return 0, err
	}
	return r.token.Nodes, nil
}

// enterGate waits until no other request of this server takes nodes for a
// caller with a limit.
func (id *Identity) enterGate(ctx context.Context) (leave func(), err error) {
	select {
	case id.gate <- struct{}{}:
		return func() { <-id.gate }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (id *Identity) beyondLimit(limit int, namespace string) error {
	return id.countRefusal(Errorf(TooMuch,
		"token %q may hold %d nodes of namespace %q at a time: give one back, or wait: "+
			"a node of a stopped program counts until its lease ends, a node given back until the time of its last ID",
		id.Name, limit, namespace))
}

// checkRoom returns why a caller may not take the nodes that it asks for.
func (s *Leases) checkRoom(ctx context.Context, id *Identity, limit int, namespace string, r wire.Request) error {
	sp, err := s.spaces.Find(ctx, namespace)
	switch {
	case err != nil:
		return err
	case !sp.lessor.Sublets(r):
	case sp.lessor.Held(id.ownsLabel) >= int64(limit):
		return id.beyondLimit(limit, namespace)
	default:
		return nil
	}
	held, _, err := s.nodesOf(ctx, id, namespace)
	if err != nil {
		return err
	}
	more := max(r.Nodes, 1)
	for i := range max(r.Nodes, 1) {
		if r.Node != nil && held[*r.Node+int64(i)] { // a restarted program takes its own node again
			more--
		}
	}
	if len(held)+more > limit {
		return id.beyondLimit(limit, namespace)
	}
	return nil
}

// nodesOf returns the nodes of a namespace that only clients of a caller
// can use now. A node that was given back counts until the used part of its
// grant has passed. The leases of ended have ended, and their holders may
// renew them: for each node, it has the first one of its unit.
func (s *Leases) nodesOf(
	ctx context.Context, id *Identity, namespace string,
) (nodes map[int64]bool, ended []int64, err error) {
	v, err := s.views.Read(ctx, namespace)
	if err != nil {
		return nil, nil, err
	}
	nodes, now := map[int64]bool{}, v.Layout.TickOf(v.From)
	for i := range v.Leases {
		l := &v.Leases[i]
		if l.From >= l.Until || !id.ownsLabel(l.Label) {
			continue
		}
		for node := l.Node; node < v.End(l); node++ {
			switch {
			case l.Until > now:
				nodes[node] = true
			case l.Holder != "":
				ended = append(ended, l.Node)
			}
		}
	}
	return nodes, ended, nil
}

// isLate reports whether a lease is a sublease of this server that has
// ended.
func (s *Leases) isLate(sp *Space, l wire.Lease) bool {
	return lessor.IDOf(l) == s.core.id && sp.layout.TickOf(s.core.now()) >= l.Grant.Until
}

// checkLate returns why an ended sublease is not renewed. It comes before
// the renewal, because a grant that is taken back counts to its end. An
// earlier attempt may count already.
//
// A sublease counts for the token that its label names. The server knows
// the limit of the caller alone, so the ticket of another token stays
// ended; a manager of the namespace could free its nodes anyway.
func (s *Leases) checkLate(id *Identity, limit int, sp *Space, l wire.Lease, earlier int) error {
	switch {
	case !s.isLate(sp, l):
	case !id.ownsLabel(l.Label) && id.May(VerbManage, l.Namespace) != nil:
		return id.countRefusal(Errorf(Lost, "node %d: its lease has ended, and only the token that made it can renew "+
			"it now, not %q: acquire another", l.Grant.Node, id.Name))
	case limit > 0 && sp.lessor.Held(id.ownsLabel) >= int64(limit+min(earlier, 1)):
		return id.beyondLimit(limit, l.Namespace)
	}
	return nil
}

// keepWithin takes a ticket back if it is beyond the limit of a caller. No
// client has it yet, and its caller may have left. used is the tick after
// the last one that may have been used.
func (s *Leases) keepWithin(ctx context.Context, id *Identity, limit int, sp *Space, l wire.Lease, used int64) error {
	ctx, cancel := WithStoreTimeout(context.WithoutCancel(ctx))
	defer cancel()
	if err := s.checkHeld(ctx, id, limit, sp, l); err != nil {
		return errors.Join(err, sp.lessor.Release(ctx, l.Ticket, used))
	}
	return nil
}

// checkHeld returns why nodes that were just taken are too many. The
// request may have been broken off: the nodes are there all the same.
func (s *Leases) checkHeld(ctx context.Context, id *Identity, limit int, sp *Space, l wire.Lease) error {
	namespace := l.Namespace
	if l.Lessor != "" {
		if sp.lessor.Held(id.ownsLabel) > int64(limit) {
			return id.beyondLimit(limit, namespace)
		}
		return nil
	}
	for {
		held, ended, err := s.nodesOf(ctx, id, namespace)
		switch {
		case err != nil:
			return err
		case len(held) > limit:
			return id.beyondLimit(limit, namespace)
		case len(held)+len(ended) <= limit:
			return nil
		}
		for _, node := range slices.Compact(ended[:len(held)+len(ended)-limit]) {
			if _, err := scope.Namespaces(s.core.store).Release(ctx, namespace, node); err != nil {
				return err
			}
		}
	}
}
