package rpc

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/wire"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	api "github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func (r leases) Acquire(ctx context.Context, m *pb.AcquireRequest) (*pb.Lease, error) {
	name, id, err := authorize(ctx, server.VerbLease, m.Namespace, max(1, int64(m.Nodes)))
	if err != nil {
		return nil, err
	}
	want := wire.Request{
		TTL: m.Ttl.AsDuration(), Node: m.Node, Guard: m.Guard && m.Node != nil, Nodes: int(m.Nodes), Label: m.Label,
		Attempt: m.Attempt, Earlier: m.Earlier, Lost: m.Lost, Free: m.Free, Prefer: m.Prefer,
		Fingerprint: m.Fingerprint, Keys: m.Keys,
	}
	if m.FirstNode != nil || m.LastNode != nil {
		want.Within = snowfence.NodeRange{From: m.GetFirstNode(), Until: math.MaxInt64}
		if m.LastNode != nil && *m.LastNode < math.MaxInt64 {
			want.Within.Until = cmp.Or(*m.LastNode+1, -1) // 0 to 0 would be any node
		}
	}
	if len(m.Within) > 0 {
		if want.Within != (snowfence.NodeRange{}) {
			return nil, server.Errorf(server.Invalid, "within and first_node are two ranges of nodes: give one of them")
		}
		if want.Within, err = r.s.Leases.NodesWith(ctx, name, m.Within); err != nil {
			return nil, err
		}
	}
	g, sp, err := r.s.Leases.Acquire(ctx, id, name, want)
	if err != nil {
		return nil, err
	}
	out := leaseOf(g.Lease, sp)
	out.Secrets = g.Secrets
	return out, nil
}

func (r leases) Renew(ctx context.Context, m *pb.RenewRequest) (*pb.Lease, error) {
	t, id, err := r.ticket(ctx, m.Ticket)
	if err != nil {
		return nil, err
	}
	if other := r.other(ctx, t); other != "" {
		out, err := forwarded(ctx, r, other, m, api.LeaseServiceClient.Renew)
		r.s.Leases.Forwarded(1, err)
		return out, err
	}
	return r.renew(ctx, id, t, m)
}

// renew renews a lease of this server's, or of the store.
func (r leases) renew(ctx context.Context, id *server.Identity, t wire.Lease, m *pb.RenewRequest) (*pb.Lease, error) {
	t, sp, err := r.s.Leases.Renew(ctx, id, t, m.Attempt, m.Earlier...)
	if err != nil {
		return nil, err
	}
	return leaseOf(t, sp), nil
}

// maxRenewals bounds a request of one client.
const maxRenewals = 1000

func (r leases) RenewAll(ctx context.Context, m *pb.RenewAllRequest) (*pb.RenewAllResponse, error) {
	n := len(m.Renewals)
	if n > maxRenewals {
		return nil, server.Errorf(server.TooMuch, "%d renewals: send %d at most", n, maxRenewals)
	}
	if err := r.s.Reserve(server.CallerOf(ctx), int64(n)*server.LeaseRoom); err != nil {
		return nil, err
	}
	out := make([]*pb.Renewal, n)
	var all sync.WaitGroup
	others := map[string][]int{} // of what another server renews, by its id
	for i, one := range m.Renewals {
		t, id, err := r.ticket(ctx, one.Ticket)
		if err != nil {
			out[i] = renewal(nil, err)
		} else if other := r.other(ctx, t); other != "" {
			others[other] = append(others[other], i)
		} else if r.s.Leases.FromMemory(t) {
			out[i] = renewal(r.renew(ctx, id, t, one))
		} else { // together, so that they share round trips to the store
			all.Go(func() { out[i] = renewal(r.renew(ctx, id, t, one)) })
		}
	}
	for other, at := range others {
		all.Go(func() { r.forwardAll(ctx, other, m.Renewals, at, out) })
	}
	all.Wait()
	return &pb.RenewAllResponse{Renewals: out}, nil
}

func (r leases) Release(ctx context.Context, m *pb.ReleaseRequest) (*pb.ReleaseResponse, error) {
	t, _, err := r.ticket(ctx, m.Ticket)
	if err != nil {
		return nil, err
	}
	if other := r.other(ctx, t); other != "" {
		return forwarded(ctx, r, other, m, api.LeaseServiceClient.Release)
	}
	used := int64(-1)
	if m.Used != nil {
		used = max(*m.Used, 0)
	}
	if err := r.s.Leases.Release(ctx, t, used); err != nil {
		return nil, err
	}
	return &pb.ReleaseResponse{}, nil
}

// ticket reads a ticket that the caller may use.
func (r leases) ticket(ctx context.Context, b []byte) (wire.Lease, *server.Identity, error) {
	id := server.CallerOf(ctx).Identity
	t, err := server.ReadTicket(b)
	if err != nil {
		return t, nil, err
	}
	return t, id, id.Authorize(server.VerbLease, t.Namespace, 1)
}

func leaseOf(l wire.Lease, sp *server.Space) *pb.Lease {
	layout, spec := sp.Layout()
	g := l.Grant
	return &pb.Lease{
		Namespace: l.Namespace, Node: g.Node, Nodes: uint32(g.Nodes), From: g.From, Until: g.Until,
		UntilTime: timestamppb.New(layout.TimeOf(g.Until)), RenewAfter: durationpb.New(renewAfter(l, layout)),
		Layout: spec, Ticket: l.Ticket, Now: timestamppb.New(l.Now), Ttl: durationpb.New(l.TTL),
	}
}

// renewAfter is a third of the ttl. A sublease may end earlier, with the
// unit of its server. Then it is a third of the rest, but at least a
// second, and not the same for all its holders.
func renewAfter(l wire.Lease, layout snowfence.Layout) time.Duration {
	third := l.TTL / 3
	if l.Lessor == "" {
		return third
	}
	left := layout.TimeOf(l.Grant.Until).Sub(l.Now) / 3
	least := min(third, time.Second)
	after := max(min(third, left), least)
	return max(after-rand.N(after/10+1), least)
}

func (r leases) Watch(
	ctx context.Context, m *pb.WatchLeasesRequest, out *connect.ServerStream[pb.ListLeasesResponse],
) (err error) {
	if m.Namespace, _, err = authorize(ctx, server.VerbRead, m.Namespace, 1); err != nil {
		return err
	}
	return r.s.Views.Watch(ctx, m, out.Send)
}
