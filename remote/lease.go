package remote

import (
	"context"
	"math"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// tickets is the LeaseService of the servers as a [lease.Server].
type tickets struct{ c *Client }

// Acquire implements [lease.Server]. It asks one server, because a copy of this process that goes
// on with the same attempt would get the same lease. The next call goes to another server.
func (s tickets) Acquire(
	ctx context.Context, namespace string, r lease.Request, o lease.Options,
) (lease.Leased, error) {
	req := &pb.AcquireRequest{
		Namespace: namespace, Label: o.Label, Ttl: durationpb.New(o.TTL), Node: o.Node, Guard: o.Guard,
		Nodes: uint32(o.Nodes), Attempt: r.Attempt, Earlier: r.Earlier, Free: r.Free, Prefer: r.Prefer, Avoid: r.Avoid,
		Fingerprint: r.Fingerprint, Keys: r.Keys,
	}
	if r.Lost != nil {
		req.Lost = r.Lost.Bytes()
	}
	if w := o.Within; w != (snowfence.NodeRange{}) {
		req.FirstNode, req.LastNode = &w.From, new(w.Until-1)
	}
	return leased(askOnce(ctx, s.c, 0, func(ctx context.Context, p *peer) (*connect.Response[pb.Lease], error) {
		return p.leases.Acquire(ctx, connect.NewRequest(req))
	}))
}

// Renew implements [lease.Server].
func (s tickets) Renew(
	ctx context.Context, ticket []byte, attempt string, earlier []string,
) (lease.Leased, error) {
	req := &pb.RenewRequest{Ticket: ticket, Attempt: attempt, Earlier: earlier}
	return leased(askOnce(ctx, s.c, 0, func(ctx context.Context, p *peer) (*connect.Response[pb.Lease], error) {
		return p.leases.Renew(ctx, connect.NewRequest(req))
	}))
}

// Release implements [lease.Server].
func (s tickets) Release(ctx context.Context, ticket []byte, used int64) error {
	req := &pb.ReleaseRequest{Ticket: ticket}
	if used >= 0 {
		req.Used = &used
	}
	_, err := ask(ctx, s.c, 0, func(ctx context.Context, p *peer) (*connect.Response[pb.ReleaseResponse], error) {
		return p.leases.Release(ctx, connect.NewRequest(req))
	})
	return err
}

func leased(res *connect.Response[pb.Lease], err error) (lease.Leased, error) {
	if err != nil {
		return lease.Leased{}, err
	}
	m := res.Msg
	l := lease.Leased{Ticket: m.Ticket, Grant: snowfence.Grant{
		Node: m.Node, From: m.From, Until: m.Until, Nodes: int64(min(m.Nodes, math.MaxInt32)),
	}}
	if m.Now != nil {
		l.Now = m.Now.AsTime()
	}
	return l, nil
}

// Lease leases a node of a namespace through the servers and keeps it. Nil options are good for
// most. The scheme is that of the namespace ([Client.Scheme]). The token
// needs the verb lease. While no server answers, the lease can be used as long as its grant lasts.
func (c *Client) Lease(
	ctx context.Context, namespace string, s *snowfence.Scheme, o *lease.Options,
) (*lease.Lease, error) {
	return lease.Keep(ctx, tickets{c}, namespace, s, o)
}

// Leases opens n leases with the same options, as [Client.Lease] does: all or none.
func (c *Client) Leases(
	ctx context.Context, namespace string, s *snowfence.Scheme, n int, o *lease.Options,
) ([]*lease.Lease, error) {
	return lease.KeepAll(ctx, tickets{c}, namespace, s, n, o)
}
