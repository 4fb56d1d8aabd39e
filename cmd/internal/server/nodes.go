package server

import (
	"context"
	"fmt"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// longestReason is how many bytes the reason of a veto has at most.
const longestReason = 1000

// ReleaseNode frees a node whose holder is gone. A holder that lives loses it at its next renewal
// and takes another; the ticks that it was granted stay its own. See [lease.ReleaseNode].
func (s *Service) ReleaseNode(ctx context.Context, namespace string, node int64) (LeaseInfo, error) {
	l, err := s.editNode(ctx, namespace, node, lease.ReleaseNode)
	if err == nil {
		s.nodeEvent(ctx, "released", namespace, node, "")
	}
	return l, err
}

// VetoNode keeps a node from being leased, and takes it from its holder as ReleaseNode does. An
// empty reason ends the veto.
func (s *Service) VetoNode(ctx context.Context, namespace string, node int64, reason string) (LeaseInfo, error) {
	if len(reason) > longestReason {
		return LeaseInfo{}, Errorf(Invalid, "the reason has %d bytes: say it in %d at most", len(reason), longestReason)
	}
	l, err := s.editNode(ctx, namespace, node, func(
		ctx context.Context, st store.Store, namespace string, node int64,
	) (store.Record, error) {
		return lease.VetoNode(ctx, st, namespace, node, reason)
	})
	switch {
	case err != nil:
	case reason == "":
		s.nodeEvent(ctx, "allowed again", namespace, node, "")
	default:
		s.nodeEvent(ctx, "vetoed", namespace, node, ": "+reason)
	}
	return l, err
}

// editNode changes the record of a node, and returns it as it is then.
func (s *Service) editNode(ctx context.Context, namespace string, node int64,
	edit func(context.Context, store.Store, string, int64) (store.Record, error),
) (LeaseInfo, error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	v, err := View{From: s.now()}, error(nil)
	if v.Namespace, v.Layout, err = s.layout(ctx, namespace); err != nil {
		return LeaseInfo{}, err
	}
	if last := v.Layout.Capacity().Nodes - 1; node < 0 || uint64(node) > last {
		return LeaseInfo{}, Errorf(Invalid, "node %d: the layout of namespace %q has nodes 0 to %d", node, namespace,
			last)
	}
	r, err := edit(ctx, s.store, namespace, node)
	switch {
	case err != nil:
		return LeaseInfo{}, err
	case r.Nonce == "":
		return LeaseInfo{}, Errorf(Refused, "node %d of namespace %q was never leased or vetoed", node, namespace)
	}
	return v.Describe(r), nil
}

func (s *Service) nodeEvent(ctx context.Context, what, namespace string, node int64, why string) {
	text := fmt.Sprintf("node %d was %s%s", node, what, why)
	s.Events.Add(Event{Kind: "node", Namespace: namespace, Actor: actorOf(ctx), Text: text})
}
