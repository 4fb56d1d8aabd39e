package rpc

import (
	"context"
	"slices"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type ids struct{ *rpc }

func (r ids) Next(ctx context.Context, req *request[pb.NextRequest]) (*response[pb.NextResponse], error) {
	n := int64(max(req.Msg.Count, 1))
	name, _, err := r.authorize(ctx, server.VerbIDs, req.Msg.Namespace, n)
	if err != nil {
		return nil, err
	}
	if err := server.CheckCount(n); err != nil {
		return nil, err
	}
	sp, err := r.s.Space(ctx, name)
	if err != nil {
		return nil, err
	}
	res := &pb.NextResponse{}
	if req.Msg.Runs {
		runs, err := sp.Runs(ctx, n)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			sp.Made.Add(run.Len())
			res.Runs = append(res.Runs, &pb.Run{First: int64(run.First), Last: int64(run.Last), Step: run.Step})
		}
		return connect.NewResponse(res), nil
	}
	if err := r.reserve(ctx, n); err != nil {
		return nil, err
	}
	if err := fill(ctx, sp, res, int(n)); err != nil {
		return nil, err
	}
	return connect.NewResponse(res), nil
}

func (r ids) NextAt(ctx context.Context, req *request[pb.NextAtRequest]) (*response[pb.NextResponse], error) {
	n := int64(max(req.Msg.Count, 1))
	sp, _, err := r.authorizedSpace(ctx, server.VerbIDs, req.Msg.Namespace, n)
	if err != nil {
		return nil, err
	}
	if !req.Msg.At.IsValid() {
		return nil, server.Errorf(server.Invalid, "at is missing, or is a time out of range")
	}
	if err := server.CheckCount(n); err != nil {
		return nil, err
	}
	if err := r.reserve(ctx, n); err != nil {
		return nil, err
	}
	made, err := sp.Past(ctx, req.Msg.At.AsTime(), req.Msg.Node, n)
	if err != nil {
		return nil, err
	}
	res := &pb.NextResponse{Ids: make([]int64, n)}
	for i, id := range made {
		res.Ids[i] = int64(id)
	}
	return connect.NewResponse(res), nil
}

// fill puts n new IDs into an answer.
func fill(ctx context.Context, sp *server.Space, res *pb.NextResponse, n int) error {
	return sp.Batch(ctx, n, func(ids []snowfence.ID) {
		sp.Made.Add(int64(n))
		res.Ids = slices.Grow(res.Ids[:0], n)[:n]
		for i, id := range ids {
			res.Ids[i] = int64(id)
		}
	})
}

func (r ids) Stream(
	ctx context.Context, req *request[pb.StreamRequest], out *connect.ServerStream[pb.NextResponse],
) error {
	batch := int64(req.Msg.Batch)
	if batch == 0 {
		batch = 1000
	}
	name, id, err := r.authorize(ctx, server.VerbIDs, req.Msg.Namespace, 1)
	if err != nil {
		return err
	}
	if err := server.CheckCount(batch); err != nil {
		return err
	}
	if _, err := r.s.Space(ctx, name); err != nil { // before anything is held for it
		return err
	}
	if err := r.reserve(ctx, batch); err != nil {
		return err
	}
	res := &pb.NextResponse{}
	for left := req.Msg.Count; req.Msg.Count == 0 || left > 0; {
		n := batch
		if req.Msg.Count > 0 {
			n = int64(min(uint64(n), left))
		}
		err := context.Cause(ctx) // the client is gone, or the server stops
		if err != nil {
			return err
		}
		// Each time, because the layout or the rights may change.
		sp, err := r.s.SpaceFor(ctx, id, server.VerbIDs, name, 0)
		if err == nil {
			n, err = id.Pace(ctx, n)
		}
		if err == nil {
			err = fill(ctx, sp, res, int(n))
		}
		if err == nil {
			err = out.Send(res)
		}
		if err != nil {
			return err
		}
		left -= uint64(n)
	}
	return nil
}

func (r ids) Decode(ctx context.Context, req *request[pb.DecodeRequest]) (*response[pb.DecodeResponse], error) {
	sp, _, err := r.authorizedSpace(ctx, server.VerbRead, req.Msg.Namespace, 1)
	if err != nil {
		return nil, err
	}
	p, err := sp.Decode(snowfence.ID(req.Msg.Id))
	if err != nil {
		return nil, err
	}
	res := &pb.DecodeResponse{
		Id: req.Msg.Id, Time: timestamppb.New(p.Time), Tick: p.Tick, Node: p.Node, Sequence: p.Sequence,
	}
	for _, f := range sp.Fields(p) {
		res.Fields = append(res.Fields, &pb.FieldValue{Name: f.Name, Value: f.Value})
	}
	return connect.NewResponse(res), nil
}

func (r ids) Range(ctx context.Context, req *request[pb.RangeRequest]) (*response[pb.RangeResponse], error) {
	sp, _, err := r.authorizedSpace(ctx, server.VerbRead, req.Msg.Namespace, 1)
	if err != nil {
		return nil, err
	}
	if !req.Msg.From.IsValid() || !req.Msg.To.IsValid() {
		return nil, server.Errorf(server.Invalid, "the times from and to are missing, or out of range")
	}
	lo, hi, err := sp.Range(req.Msg.From.AsTime(), req.Msg.To.AsTime())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&pb.RangeResponse{Low: int64(lo), High: int64(hi)}), nil
}
