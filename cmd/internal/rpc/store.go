package rpc

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	seam "github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/remote/snowfencev1/snowfencev1connect"
)

// store hands the server's store through to holders that run the lease algorithm
// themselves, as far as lease.Holders goes; those who manage a namespace may write
// anything in it.
type store struct{ *rpc }

const maxRecords = 10_000 // in one request

// authorize refuses the names of sequences, which are no namespaces.
func (r store) authorize(
	ctx context.Context, v server.Verb, namespace string, n int64,
) (string, *server.Identity, error) {
	name, id, err := r.rpc.authorize(ctx, v, namespace, n)
	if err == nil {
		err = lease.CheckName(name)
	}
	return name, id, err
}

// storeFor returns the store as a caller sees it in a namespace, or in all.
func (r store) storeFor(id *server.Identity, namespace string) lease.Store {
	if id.May(server.VerbManage, namespace) == nil {
		return r.s.Store()
	}
	return r.s.HoldersFor(id)
}

func (r store) Get(ctx context.Context, req *request[pb.GetRequest]) (*response[pb.Records], error) {
	name, id, err := r.authorize(ctx, server.VerbStore, req.Msg.Namespace, 1)
	if err != nil {
		return nil, err
	}
	if n := len(req.Msg.Nodes); n > maxRecords {
		return nil, server.Errorf(server.TooMuch, "%d records: ask for %d at most", n, maxRecords)
	}
	keys := make([]lease.Key, len(req.Msg.Nodes))
	for i, n := range req.Msg.Nodes {
		if n < lease.NamespaceNode {
			return nil, server.Errorf(server.Invalid, "there is no node %d", n)
		}
		keys[i] = lease.Key{Namespace: name, Node: n}
	}
	rs, err := r.storeFor(id, name).Get(ctx, keys)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&pb.Records{Records: protoRecords(rs)}), nil
}

func (r store) Find(ctx context.Context, req *request[pb.FindRequest]) (*response[pb.Records], error) {
	m := req.Msg
	name, id, err := r.authorize(ctx, server.VerbStore, m.Namespace, 1)
	if err == nil && m.AllNamespaces {
		name, err = "", id.May(server.VerbManage, "")
	}
	if err != nil {
		return nil, err
	}
	limit := int(m.Limit)
	if limit == 0 || limit > maxRecords {
		limit = maxRecords
	}
	var rs []lease.Record
	if m.AllNamespaces {
		rs, err = r.storeFor(id, name).Heads(ctx)
	} else {
		rs, err = r.storeFor(id, name).List(ctx, name, nodesOf(m.First, m.Last), limit)
	}
	if err != nil {
		return nil, err
	}
	if m.AllNamespaces {
		rs = slices.DeleteFunc(rs, func(rec lease.Record) bool {
			return !id.Sees(rec.Namespace) || lease.CheckName(rec.Namespace) != nil // a sequence's
		})
	}
	return connect.NewResponse(&pb.Records{Records: protoRecords(rs)}), nil
}

func (r store) Count(ctx context.Context, req *request[pb.CountRequest]) (*response[pb.CountResponse], error) {
	name, _, err := r.authorize(ctx, server.VerbStore, req.Msg.Namespace, 1)
	if err != nil {
		return nil, err
	}
	n, err := r.count(ctx, name, nodesOf(req.Msg.First, req.Msg.Last))
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&pb.CountResponse{Count: n}), nil
}

// nodesOf returns the range of a request; the highest number has none after it.
func nodesOf(first, last int64) snowfence.NodeRange {
	return snowfence.NodeRange{From: first, Until: max(last, last+1)}
}

// count counts by listing where the store has no faster way.
func (r store) count(ctx context.Context, name string, nodes snowfence.NodeRange) (n int64, err error) {
	for _, err := range seam.Records(ctx, r.s.Store(), name, nodes) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

func (r store) Swap(ctx context.Context, req *request[pb.SwapRequest]) (*response[pb.SwapResponse], error) {
	id, err := r.identify(ctx)
	if err != nil {
		return nil, err
	}
	n := len(req.Msg.Writes)
	if n == 0 || n > maxRecords {
		return nil, server.Errorf(server.Invalid, "%d writes: send 1 to %d", n, maxRecords)
	}
	st := r.s.Store()
	writes := make([]lease.Write, n)
	for i, w := range req.Msg.Writes {
		rec := leaseRecord(w.New)
		if rec.Nonce == "" || rec.Nonce == w.Old || rec.Node < lease.NamespaceNode {
			return nil, server.Errorf(server.Invalid, "write %d has no new nonce, or no node", i)
		}
		if err := id.Authorize(server.VerbStore, rec.Namespace, 0); err != nil { // all of them count below
			return nil, err
		}
		err := cmp.Or(lease.CheckName(rec.Namespace), lease.CheckText(rec.Label), lease.CheckText(rec.Veto))
		if err != nil {
			return nil, err
		}
		if id.May(server.VerbManage, rec.Namespace) != nil {
			st = r.s.HoldersFor(id) // of all: what is judged needlessly is only refused
		}
		writes[i] = lease.Write{Old: w.Old, New: rec}
	}
	if err := id.Spend(int64(n)); err != nil {
		return nil, err
	}
	if id.May(server.VerbManage, writes[0].New.Namespace) == nil {
		defer r.logWrites(ctx, writes)
	}
	res := &pb.SwapResponse{Results: make([]pb.SwapResult, n)}
	for i, err := range st.Swap(ctx, writes) {
		switch {
		case err == nil:
			res.Results[i] = pb.SwapResult_SWAP_RESULT_DONE
		case errors.Is(err, lease.ErrLost):
			res.Results[i] = pb.SwapResult_SWAP_RESULT_LOST
		case n == 1:
			return nil, err // with its words
		}
	}
	res.Identities = r.identities(ctx, writes) // after the writes: whoever uses them compares
	return connect.NewResponse(res), nil
}

// logWrites logs writes that no lease makes: of namespaces, and of vetoes.
func (r store) logWrites(ctx context.Context, writes []lease.Write) {
	for _, w := range writes {
		if w.New.Node >= 0 && w.New.Veto == "" {
			continue
		}
		q := r.requestInfo(ctx, snowfencev1connect.StoreServiceSwapProcedure, "")
		q.Namespace = w.New.Namespace
		r.s.Managed(server.RPC, q, nil)
	}
}

// identities returns those of the namespaces of some writes, in the order in which they
// first come; nil if one cannot be read.
func (r store) identities(ctx context.Context, writes []lease.Write) []string {
	ctx, cancel := context.WithTimeout(ctx, time.Second) // so that the answer tells what was written
	defer cancel()
	var names, out []string
	for _, w := range writes {
		if name := w.New.Namespace; !slices.Contains(names, name) {
			id, err := r.s.Store().Identity(ctx, name)
			if err != nil || len(names) == maxIdentities {
				return nil
			}
			names, out = append(names, name), append(out, id)
		}
	}
	return out
}

// maxIdentities bounds what an answer says of namespaces: holders write in one, mostly.
const maxIdentities = 64

func (r store) Describe(ctx context.Context, req *request[pb.DescribeRequest]) (*response[pb.DescribeResponse], error) {
	name := req.Msg.Namespace // "" is the store as a whole
	id, err := r.identify(ctx)
	if err == nil {
		err = id.Authorize(server.VerbStore, name, 1)
	}
	if err == nil && name != "" {
		err = lease.CheckName(name)
	}
	if err != nil {
		return nil, err
	}
	res := &pb.DescribeResponse{}
	if res.Identity, err = r.s.Store().Identity(ctx, name); err != nil {
		return nil, err
	}
	now, err := r.s.Store().Now(ctx)
	if err != nil {
		return nil, err
	}
	if !now.IsZero() {
		res.Now = timestamppb.New(now)
	}
	if !req.Msg.Secrets {
		return connect.NewResponse(res), nil
	}
	sp, err := r.s.Space(ctx, name)
	if err != nil {
		return nil, err
	}
	res.Secrets, err = r.s.Secrets(sp)
	return connect.NewResponse(res), err
}

func protoRecords(rs []lease.Record) []*pb.Record {
	out := make([]*pb.Record, len(rs))
	for i, r := range rs {
		out[i] = &pb.Record{
			Namespace: r.Namespace, Node: r.Node, Nonce: r.Nonce, Revision: r.Revision, Generation: r.Generation,
			From: r.From, Until: r.Until, PrevUntil: r.PrevUntil, SkipFrom: r.SkipFrom, SkipUntil: r.SkipUntil,
			Holder: r.Holder, Label: r.Label, Veto: r.Veto, At: r.At, Data: r.Data,
		}
	}
	return out
}

func leaseRecord(r *pb.Record) lease.Record {
	return lease.Record{
		Key: lease.Key{Namespace: r.GetNamespace(), Node: r.GetNode()}, Nonce: r.GetNonce(),
		Revision: r.GetRevision(), Generation: r.GetGeneration(), From: r.GetFrom(), Until: r.GetUntil(),
		PrevUntil: r.GetPrevUntil(), SkipFrom: r.GetSkipFrom(), SkipUntil: r.GetSkipUntil(),
		Holder: r.GetHolder(), Label: r.GetLabel(), Veto: r.GetVeto(), At: r.GetAt(), Data: r.GetData(),
	}
}
