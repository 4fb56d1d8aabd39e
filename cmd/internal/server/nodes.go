package server

import (
	"cmp"
	"context"
	"math"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// PageOfLeases bounds one page of a list of leases.
const PageOfLeases = 4096

// ListLeases lists nodes that were ever leased.
func (s *Management) ListLeases(ctx context.Context, m *pb.ListLeasesRequest) (*pb.ListLeasesResponse, error) {
	out := &pb.ListLeasesResponse{}
	v, err := s.views.newView(ctx, m.Namespace)
	if err != nil || m.GetAfter() == math.MaxInt64 {
		return out, err
	}
	limit := int(min(cmp.Or(m.Limit, PageOfLeases), PageOfLeases))
	if m.Node != nil {
		limit = 1
	}
	if err := s.core.Reserve(CallerOf(ctx), int64(limit)*LeaseRoom); err != nil {
		return nil, err
	}
	nodes := snowfence.NodeRange{Until: math.MaxInt64}
	if m.After != nil {
		nodes.From = max(*m.After, -1) + 1
	}
	if m.Node != nil { // above all nodes there is none
		first := *m.Node &^ (v.Namespace.Unit - 1)
		nodes = snowfence.NodeRange{From: max(first, nodes.From), Until: min(first, math.MaxInt64-1) + 1}
	}
	for r, err := range store.Records(ctx, s.core.store, m.Namespace, nodes) {
		if err != nil {
			return nil, err
		}
		if l := v.leaseOf(r); (!m.Held || l.Held) && !view.Inside(r, v.Namespace) {
			out.Leases = append(out.Leases, v.Message(l))
		}
		if len(out.Leases) == limit {
			break
		}
	}
	return out, nil
}

// ReleaseNode frees the node of a holder that is gone. A holder that lives
// loses it at its next renewal and takes another; the ticks of its grant
// stay its own. See [scope.Operator.Release].
func (s *Management) ReleaseNode(ctx context.Context, m *pb.ReleaseNodeRequest) (*pb.LeaseInfo, error) {
	return s.editNode(ctx, m.Namespace, m.Node, scope.Operator.Release)
}

// Veto keeps a node from being leased, and takes it from its holder as
// ReleaseNode does. An empty reason ends the veto.
func (s *Management) Veto(ctx context.Context, m *pb.VetoRequest) (*pb.LeaseInfo, error) {
	if len(m.Reason) > longestReason {
		return nil, Errorf(Invalid, "the reason has %d bytes: say it in %d at most", len(m.Reason), longestReason)
	}
	return s.editNode(ctx, m.Namespace, m.Node, func(
		op scope.Operator, ctx context.Context, namespace string, node int64,
	) (store.Record, error) {
		return op.Veto(ctx, namespace, node, m.Reason)
	})
}

// longestReason is how many bytes the reason of a veto has at most.
const longestReason = 1000

// editNode changes the record of a node, and returns it as it is then.
func (s *Management) editNode(ctx context.Context, namespace string, node int64,
	edit func(scope.Operator, context.Context, string, int64) (store.Record, error),
) (*pb.LeaseInfo, error) {
	v, err := s.views.newView(ctx, namespace)
	if err != nil {
		return nil, err
	}
	r, err := edit(scope.Namespaces(s.core.store), ctx, namespace, node)
	switch {
	case err != nil:
		return nil, err
	case r.Nonce == "":
		return nil, Errorf(Refused, "node %d of namespace %q was never leased or vetoed", node, namespace)
	}
	return v.Message(v.leaseOf(r)), nil
}
