package rpc

import (
	"context"
	"math"
	"sync"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type leases struct{ *rpc }

func (r leases) Acquire(ctx context.Context, req *request[pb.AcquireRequest]) (*response[pb.Lease], error) {
	m := req.Msg
	name, id, err := r.authorize(ctx, server.VerbLease, m.Namespace, max(1, int64(m.Nodes)))
	if err != nil {
		return nil, err
	}
	want := lease.Request{
		Attempt: m.Attempt, Earlier: m.Earlier, Free: m.Free, Prefer: m.Prefer, Avoid: m.Avoid,
		Fingerprint: m.Fingerprint, Keys: m.Keys,
	}
	if len(m.Lost) > 0 {
		t, err := server.ParseTicket(m.Lost)
		if err != nil {
			return nil, err
		}
		want.Lost = &t
	}
	o := lease.Options{
		TTL: m.Ttl.AsDuration(), Node: m.Node, Guard: m.Guard && m.Node != nil, Nodes: int(m.Nodes), Label: m.Label,
	}
	if m.FirstNode != nil || m.LastNode != nil {
		o.Within = snowfence.NodeRange{From: m.GetFirstNode(), Until: math.MaxInt64}
		if m.LastNode != nil && *m.LastNode < math.MaxInt64 {
			o.Within.Until = *m.LastNode + 1
		}
	}
	g, sp, err := r.s.Acquire(ctx, id, name, want, o)
	if err != nil {
		return nil, err
	}
	res, err := r.lease(g.Ticket, sp)
	if err == nil {
		res.Msg.Secrets = g.Secrets
	}
	return res, err
}

func (r leases) Renew(ctx context.Context, req *request[pb.RenewRequest]) (*response[pb.Lease], error) {
	t, id, err := r.ticket(ctx, req.Msg.Ticket)
	if err != nil {
		return nil, err
	}
	t, sp, err := r.s.Renew(ctx, id, t, req.Msg.Attempt, req.Msg.Earlier...)
	if err != nil {
		return nil, err
	}
	return r.lease(t, sp)
}

// maxRenewals bounds a request of one client.
const maxRenewals = 1000

func (r leases) RenewAll(
	ctx context.Context, req *request[pb.RenewAllRequest],
) (*response[pb.RenewAllResponse], error) {
	n := len(req.Msg.Renewals)
	if n > maxRenewals {
		return nil, server.Errorf(server.TooMuch, "%d renewals: send %d at most", n, maxRenewals)
	}
	out := make([]*pb.Renewal, n)
	var all sync.WaitGroup
	for i, one := range req.Msg.Renewals {
		all.Go(func() {
			res, err := r.Renew(ctx, connect.NewRequest(one))
			if err != nil {
				out[i] = &pb.Renewal{Reason: server.KindOf(err).Name(), Message: err.Error()}
				return
			}
			out[i] = &pb.Renewal{Lease: res.Msg}
		})
	}
	all.Wait()
	return connect.NewResponse(&pb.RenewAllResponse{Renewals: out}), nil
}

func (r leases) Release(ctx context.Context, req *request[pb.ReleaseRequest]) (*response[pb.ReleaseResponse], error) {
	t, _, err := r.ticket(ctx, req.Msg.Ticket)
	if err != nil {
		return nil, err
	}
	used := int64(-1)
	if req.Msg.Used != nil {
		used = max(*req.Msg.Used, 0)
	}
	if err := r.s.Release(ctx, t, used); err != nil {
		return nil, err
	}
	return connect.NewResponse(&pb.ReleaseResponse{}), nil
}

func (r leases) ReleaseNode(
	ctx context.Context, req *request[pb.ReleaseNodeRequest],
) (*response[pb.LeaseInfo], error) {
	name, _, err := r.authorize(ctx, server.VerbManage, req.Msg.Namespace, 1)
	if err != nil {
		return nil, err
	}
	return leaseInfo(r.s.ReleaseNode(ctx, name, req.Msg.Node))
}

func (r leases) Veto(ctx context.Context, req *request[pb.VetoRequest]) (*response[pb.LeaseInfo], error) {
	name, _, err := r.authorize(ctx, server.VerbManage, req.Msg.Namespace, 1)
	if err != nil {
		return nil, err
	}
	return leaseInfo(r.s.VetoNode(ctx, name, req.Msg.Node, req.Msg.Reason))
}

func leaseInfo(l server.LeaseInfo, err error) (*response[pb.LeaseInfo], error) {
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(leaseInfos([]server.LeaseInfo{l})[0]), nil
}

// ticket reads a ticket that the caller may use.
func (r leases) ticket(ctx context.Context, b []byte) (lease.Ticket, *server.Identity, error) {
	id, err := r.identify(ctx)
	if err != nil {
		return lease.Ticket{}, nil, err
	}
	t, err := server.ParseTicket(b)
	if err != nil {
		return t, nil, err
	}
	return t, id, id.Authorize(server.VerbLease, t.Namespace, 1)
}

func (r leases) lease(t lease.Ticket, sp *server.Space) (*response[pb.Lease], error) {
	l := sp.Scheme().Layout()
	return connect.NewResponse(&pb.Lease{
		Namespace: t.Namespace, Node: t.Node, Nodes: uint32(t.Nodes), From: t.From, Until: t.Until,
		UntilTime: timestamppb.New(l.TimeOf(t.Until)), RenewAfter: durationpb.New(t.TTL / 3), Layout: l.String(),
		Ticket: t.Bytes(), Now: timestamppb.New(r.s.Now()),
	}), nil
}

func (r leases) List(
	ctx context.Context, req *request[pb.ListLeasesRequest],
) (*response[pb.ListLeasesResponse], error) {
	name, _, err := r.authorize(ctx, server.VerbRead, req.Msg.Namespace, 1)
	if err != nil {
		return nil, err
	}
	want := server.LeaseQuery{After: -1, Limit: int(req.Msg.Limit), Held: req.Msg.Held}
	if req.Msg.After != nil {
		want.After = *req.Msg.After
	}
	list, err := r.s.Leases(ctx, name, want)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&pb.ListLeasesResponse{Leases: leaseInfos(list)}), nil
}

func leaseInfos(list []server.LeaseInfo) []*pb.LeaseInfo {
	out := make([]*pb.LeaseInfo, len(list))
	for i, l := range list {
		out[i] = &pb.LeaseInfo{
			Node: l.Node, Label: l.Label, Held: l.Held, Veto: l.Veto, FromTime: timestamppb.New(l.From),
			UntilTime: timestamppb.New(l.Until), Written: timestamppb.New(l.Written),
		}
	}
	return out
}

func (r leases) Watch(
	ctx context.Context, req *request[pb.WatchLeasesRequest], out *connect.ServerStream[pb.ListLeasesResponse],
) error {
	name, id, err := r.authorize(ctx, server.VerbRead, req.Msg.Namespace, 1)
	if err != nil {
		return err
	}
	first := true
	return r.s.Watch(ctx, name, func(list []server.LeaseInfo) error {
		if err := id.May(server.VerbRead, name); err != nil { // its token may have been taken away
			return err
		}
		if len(list) == 0 && !first {
			return nil
		}
		first = false
		return out.Send(&pb.ListLeasesResponse{Leases: leaseInfos(list)})
	})
}
