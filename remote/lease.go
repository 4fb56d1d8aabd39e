package remote

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/wire"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// tickets is the LeaseService of the servers as a [wire.Server], for all
// leases of a client.
type tickets struct {
	c *Client

	mu    sync.Mutex
	queue []*renewal
	under int // requests under way
}

// renewal is a call of Renew.
type renewal struct {
	ctx  context.Context // of the caller
	req  *pb.RenewRequest
	done chan struct{}
	out  wire.Lease // valid when done
	err  error
}

const (
	together = 1000 // renewals in a request, at most
	atOnce   = 4    // requests, so that one that hangs does not keep all others waiting
)

// Acquire implements [wire.Server]. It asks one server, because a copy of
// this process that goes on with the same attempt would get the same lease.
// The next call goes to another server.
func (s *tickets) Acquire(ctx context.Context, namespace string, r wire.Request) (wire.Lease, error) {
	req := &pb.AcquireRequest{
		Namespace: namespace, Label: r.Label, Ttl: durationpb.New(r.TTL), Node: r.Node, Guard: r.Guard,
		Nodes: uint32(r.Nodes), Attempt: r.Attempt, Earlier: r.Earlier, Lost: r.Lost, Free: r.Free, Prefer: r.Prefer,
		Fingerprint: r.Fingerprint, Keys: r.Keys,
	}
	if w := r.Within; w != (snowfence.NodeRange{}) {
		req.FirstNode, req.LastNode = &w.From, new(w.Until-1)
	}
	res, err := askOnce(ctx, s.c, 0, func(ctx context.Context, p *peer) (*connect.Response[pb.Lease], error) {
		return p.leases.Acquire(ctx, connect.NewRequest(req))
	})
	switch {
	case errors.Is(err, lease.ErrExists): // with another layout
		return wire.Lease{}, fmt.Errorf("%w (%w)", err, lease.ErrMismatch)
	case err != nil:
		return wire.Lease{}, err
	}
	return leased(res.Msg), nil
}

// Renew implements [wire.Server]. Renewals that come while others are under
// way share a request.
func (s *tickets) Renew(ctx context.Context, ticket wire.Ticket, attempt string, earlier []string) (wire.Lease, error) {
	r := &renewal{
		ctx: ctx, req: &pb.RenewRequest{Ticket: ticket, Attempt: attempt, Earlier: earlier}, done: make(chan struct{}),
	}
	s.mu.Lock()
	s.queue = append(s.queue, r)
	if s.under < atOnce {
		s.under++
		go s.renewAll()
	}
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.out, r.err
	case <-ctx.Done():
		return wire.Lease{}, fmt.Errorf("remote: renewing a lease: %w", ctx.Err())
	}
}

// renewAll sends the waiting renewals until none is left. The limit of the
// client bounds each request.
func (s *tickets) renewAll() {
	for {
		s.mu.Lock()
		s.queue = slices.DeleteFunc(s.queue, func(r *renewal) bool { return r.ctx.Err() != nil }) // nobody waits
		n := min(len(s.queue), together)
		batch := s.queue[:n:n]
		s.queue = s.queue[n:]
		if n == 0 {
			s.queue = nil
			s.under--
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		s.sendBatch(batch)
		for _, r := range batch {
			close(r.done)
		}
	}
}

func (s *tickets) sendBatch(batch []*renewal) {
	req := &pb.RenewAllRequest{}
	for _, r := range batch {
		req.Renewals = append(req.Renewals, r.req)
	}
	var at *peer
	res, err := askOnce(context.Background(), s.c, len(batch),
		func(ctx context.Context, p *peer) (*connect.Response[pb.RenewAllResponse], error) {
			at = p
			return p.leases.RenewAll(ctx, connect.NewRequest(req))
		})
	if err == nil && len(res.Msg.Renewals) != len(batch) {
		err = fmt.Errorf("remote: %s: %d answers to %d renewals", at.address, len(res.Msg.Renewals), len(batch))
	}
	away := false
	for i, r := range batch {
		switch {
		case err != nil:
			r.err = err
		case res.Msg.Renewals[i].Lease == nil:
			answer := res.Msg.Renewals[i]
			r.err = at.explainReason(answer.Reason, errors.New(answer.Message))
			away = away || answer.Reason == "unavailable"
		default:
			r.out = leased(res.Msg.Renewals[i].Lease)
		}
	}
	if away {
		s.c.moveOn(at)
	}
}

// Release implements [wire.Server].
func (s *tickets) Release(ctx context.Context, ticket wire.Ticket, used int64) error {
	req := &pb.ReleaseRequest{Ticket: ticket}
	if used >= 0 {
		req.Used = &used
	}
	_, err := ask(ctx, s.c, 0, func(ctx context.Context, p *peer) (*connect.Response[pb.ReleaseResponse], error) {
		return p.leases.Release(ctx, connect.NewRequest(req))
	})
	return err
}

func leased(m *pb.Lease) wire.Lease {
	l := wire.Lease{Ticket: m.Ticket, TTL: m.Ttl.AsDuration(), Grant: snowfence.Grant{
		Node: m.Node, From: m.From, Until: m.Until, Nodes: int64(min(m.Nodes, math.MaxInt32)),
	}}
	if m.Now != nil {
		l.Now = m.Now.AsTime()
	}
	return l
}

// Lease leases a node of a namespace through the servers and keeps it. Nil
// options use the defaults. s is the scheme of the namespace
// ([Client.Scheme]). The token needs the verb lease. While no server
// answers, the lease stays usable until its grant ends.
func (c *Client) Lease(
	ctx context.Context, namespace string, s *snowfence.Scheme, o *lease.Options,
) (*lease.Lease, error) {
	all, err := lease.Keep(ctx, c.leases, namespace, s, 1, o)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Server returns the servers as lease.Keep asks them, for programs that
// stand in between.
func (c *Client) Server() wire.Server { return c.leases }

// Leases opens n leases with the same options, as [Client.Lease] does: all
// or none.
func (c *Client) Leases(
	ctx context.Context, namespace string, s *snowfence.Scheme, n int, o *lease.Options,
) ([]*lease.Lease, error) {
	return lease.Keep(ctx, c.leases, namespace, s, n, o)
}
