package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// serverStore is the store of a server. It does for leases what the store itself would, at one
// round trip more; leases that share a Client share round trips.
type serverStore struct {
	store.Basic

	c          *Client
	identities identityCache
	clock      clock
}

func newStore(c *Client) *serverStore { return &serverStore{c: c} }

// Store returns the server's store, for package lease. The token needs the verb store.
func (c *Client) Store() lease.Store { return c.store }

// perRequest bounds the records of one request.
const perRequest = 5000

// Get implements [lease.Store].
func (s *serverStore) Get(ctx context.Context, keys []lease.Key) ([]lease.Record, error) {
	out := make([]lease.Record, len(keys))
	byName := map[string][]int{}
	var names []string
	for i, k := range keys {
		if strings.HasPrefix(k.Namespace, "#") {
			return nil, noSequence(k)
		}
		if byName[k.Namespace] == nil {
			names = append(names, k.Namespace)
		}
		byName[k.Namespace] = append(byName[k.Namespace], i)
	}
	for _, name := range names {
		for at := range slices.Chunk(byName[name], perRequest) {
			req := &pb.GetRequest{Namespace: name}
			for _, i := range at {
				req.Nodes = append(req.Nodes, keys[i].Node)
			}
			res, err := ask(ctx, s.c, len(at),
				func(ctx context.Context, p *peer) (*connect.Response[pb.Records], error) {
					return p.store.Get(ctx, connect.NewRequest(req))
				})
			if err != nil {
				return nil, err
			}
			if len(res.Msg.Records) != len(at) {
				return nil, fmt.Errorf("remote: the server gave %d records for %d nodes", len(res.Msg.Records), len(at))
			}
			for j, i := range at {
				out[i] = fromWire(res.Msg.Records[j])
			}
		}
	}
	return out, nil
}

// List implements [lease.Store].
func (s *serverStore) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) (out []lease.Record, err error) {
	for nodes.From < nodes.Until {
		page := min(perRequest, limit-len(out))
		rs, err := s.find(ctx, &pb.FindRequest{
			Namespace: namespace, First: nodes.From, Last: nodes.Until - 1, Limit: uint32(page),
		})
		if err != nil {
			return nil, err
		}
		if out = append(out, rs...); len(rs) < page || len(out) >= limit {
			return out, nil
		}
		nodes.From = max(nodes.From, rs[len(rs)-1].Node) + 1
	}
	return out, nil
}

// Heads implements [lease.Store], for namespaces that the token sees. It needs the verb manage.
func (s *serverStore) Heads(ctx context.Context) ([]lease.Record, error) {
	return s.find(ctx, &pb.FindRequest{AllNamespaces: true, Limit: perRequest})
}

func (s *serverStore) find(ctx context.Context, req *pb.FindRequest) ([]lease.Record, error) {
	res, err := ask(ctx, s.c, int(req.Limit),
		func(ctx context.Context, p *peer) (*connect.Response[pb.Records], error) {
			return p.store.Find(ctx, connect.NewRequest(req))
		})
	if err != nil {
		return nil, err
	}
	var out []lease.Record
	for _, r := range res.Msg.Records {
		out = append(out, fromWire(r))
	}
	return out, nil
}

// Swap implements [lease.Store]. It is sent once: without an answer the outcome is unknown,
// and the lease finds it out.
func (s *serverStore) Swap(ctx context.Context, writes []lease.Write) []error {
	errs := make([]error, 0, len(writes))
	if err := store.Distinct(writes); err != nil {
		return slices.Repeat([]error{err}, len(writes))
	}
	errs = errs[:len(writes)]
	var at []int // of the writes of nodes
	for i, w := range writes {
		if w.New.Node == lease.NamespaceNode {
			errs[i] = s.swap(ctx, writes[i:i+1])[0] // by itself, so that a refusal comes back with its words
		} else {
			at = append(at, i)
		}
	}
	for part := range slices.Chunk(at, perRequest) {
		some := make([]lease.Write, len(part))
		for j, i := range part {
			some[j] = writes[i]
		}
		for j, err := range s.swap(ctx, some) {
			errs[part[j]] = err
		}
	}
	return errs
}

func (s *serverStore) swap(ctx context.Context, writes []lease.Write) []error {
	req := &pb.SwapRequest{Writes: make([]*pb.Write, len(writes))}
	for i, w := range writes {
		req.Writes[i] = &pb.Write{Old: w.Old, New: toWire(w.New)}
	}
	begun := s.identities.begin()
	res, err := askOnce(ctx, s.c, len(writes),
		func(ctx context.Context, p *peer) (*connect.Response[pb.SwapResponse], error) {
			return p.store.Swap(ctx, connect.NewRequest(req))
		})
	if err == nil && len(res.Msg.Results) != len(writes) {
		err = fmt.Errorf("remote: the server gave %d results for %d writes", len(res.Msg.Results), len(writes))
	}
	if errors.Is(err, lease.ErrRefused) {
		return slices.Repeat([]error{err}, len(writes)) // nothing was written, and nothing will be
	}
	if err != nil {
		// An error of the whole request is no answer to a compare-and-swap, whatever it
		// wraps.
		return slices.Repeat([]error{fmt.Errorf("it is not known whether it was written: %v", err)}, len(writes))
	}
	s.identities.learn(begun, writes, res.Msg.Identities)
	errs := make([]error, len(writes))
	for i, r := range res.Msg.Results {
		switch r {
		case pb.SwapResult_SWAP_RESULT_DONE:
		case pb.SwapResult_SWAP_RESULT_LOST:
			errs[i] = lease.ErrLost
		default:
			errs[i] = fmt.Errorf("remote: the server does not know what became of the write of node %d",
				writes[i].New.Node)
		}
	}
	return errs
}

// Add implements [lease.Store]: a server shows no sequences through its store.
func (s *serverStore) Add(_ context.Context, a store.Addition) (lease.Record, error) {
	return lease.Record{}, noSequence(a.Key)
}

func noSequence(k lease.Key) error {
	return fmt.Errorf("remote: %s: a server's store has no sequences: use Client.Sequence (%w)", k.Namespace,
		lease.ErrRefused)
}

// Identity implements [lease.Store]: that of the server's store, so servers over one store
// are one. The answer to the last swap mostly has it.
func (s *serverStore) Identity(ctx context.Context, namespace string) (string, error) {
	if id, ok := s.identities.identity(namespace); ok {
		return id, nil
	}
	d, err := s.describe(ctx, namespace)
	if err != nil {
		return "", err
	}
	return d.Identity, nil
}

// Now implements [lease.Store]: the store's time as of a moment ago, continued here (see
// clock).
func (s *serverStore) Now(ctx context.Context) (time.Time, error) {
	if now, ok := s.clock.now(time.Now()); ok {
		return now, nil
	}
	asked := time.Now()
	d, err := s.describe(ctx, "")
	if err != nil {
		return time.Time{}, err
	}
	var theirs time.Time // a store may have none
	if d.Now != nil {
		theirs = d.Now.AsTime()
	}
	s.clock.set(asked, time.Now(), theirs)
	return theirs, nil
}

func (s *serverStore) describe(ctx context.Context, namespace string) (*pb.DescribeResponse, error) {
	res, err := ask(ctx, s.c, 0, func(ctx context.Context, p *peer) (*connect.Response[pb.DescribeResponse], error) {
		return p.store.Describe(ctx, connect.NewRequest(&pb.DescribeRequest{Namespace: namespace}))
	})
	if err != nil {
		return nil, err
	}
	return res.Msg, nil
}

func fromWire(r *pb.Record) lease.Record {
	return lease.Record{
		Key:   lease.Key{Namespace: r.Namespace, Node: r.Node},
		Nonce: r.Nonce, Revision: r.Revision, Generation: r.Generation,
		From: r.From, Until: r.Until, PrevUntil: r.PrevUntil, SkipFrom: r.SkipFrom, SkipUntil: r.SkipUntil,
		Holder: r.Holder, Label: r.Label, Veto: r.Veto, At: r.At, Data: r.Data,
	}
}

func toWire(r lease.Record) *pb.Record {
	return &pb.Record{
		Namespace: r.Namespace, Node: r.Node, Nonce: r.Nonce, Revision: r.Revision, Generation: r.Generation,
		From: r.From, Until: r.Until, PrevUntil: r.PrevUntil, SkipFrom: r.SkipFrom, SkipUntil: r.SkipUntil,
		Holder: r.Holder, Label: r.Label, Veto: r.Veto, At: r.At, Data: r.Data,
	}
}
