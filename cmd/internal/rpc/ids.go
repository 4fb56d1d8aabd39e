package rpc

import (
	"context"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type ids struct{ *rpc }

// space returns a namespace for new IDs, of which the caller takes n.
func (r ids) space(ctx context.Context, namespace string, n int64) (*server.Space, error) {
	name, id, err := r.may(ctx, server.VerbIDs, namespace)
	if err != nil {
		return nil, err
	}
	if err := server.CheckCount(n); err != nil {
		return nil, err
	}
	if err := id.Spend(n); err != nil {
		return nil, err
	}
	return r.s.Space(ctx, name)
}

func (r ids) Next(ctx context.Context, req *connect.Request[pb.NextRequest]) (*connect.Response[pb.NextResponse], error) {
	n := int64(max(req.Msg.Count, 1))
	sp, err := r.space(ctx, req.Msg.Namespace, n)
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
	if err := fill(ctx, sp, res, int(n)); err != nil {
		return nil, err
	}
	return connect.NewResponse(res), nil
}

func fill(ctx context.Context, sp *server.Space, res *pb.NextResponse, n int) error {
	return sp.Batch(ctx, n, func(ids []snowfence.ID) {
		sp.Made.Add(int64(n))
		res.Ids = make([]int64, n)
		for i, id := range ids {
			res.Ids[i] = int64(id)
		}
	})
}

func (r ids) Stream(ctx context.Context, req *connect.Request[pb.StreamRequest], out *connect.ServerStream[pb.NextResponse]) error {
	batch := uint64(req.Msg.Batch)
	if batch == 0 {
		batch = 1000
	}
	for left := req.Msg.Count; ; {
		n := batch
		if req.Msg.Count > 0 {
			if n = min(n, left); n == 0 {
				return nil
			}
			left -= n
		}
		sp, err := r.space(ctx, req.Msg.Namespace, int64(n))
		if err != nil {
			return err
		}
		res := &pb.NextResponse{}
		if err := fill(ctx, sp, res, int(n)); err != nil {
			return err
		}
		if err := out.Send(res); err != nil {
			return err
		}
	}
}

func (r ids) Decode(ctx context.Context, req *connect.Request[pb.DecodeRequest]) (*connect.Response[pb.DecodeResponse], error) {
	name, _, err := r.may(ctx, server.VerbRead, req.Msg.Namespace)
	if err != nil {
		return nil, err
	}
	sp, err := r.s.Space(ctx, name)
	if err != nil {
		return nil, err
	}
	p, err := sp.Decode(snowfence.ID(req.Msg.Id))
	if err != nil {
		return nil, err
	}
	res := &pb.DecodeResponse{Id: req.Msg.Id, Time: timestamppb.New(p.Time), Tick: p.Tick, Node: p.Node, Sequence: p.Sequence}
	for _, f := range sp.Fields(p) {
		res.Fields = append(res.Fields, &pb.FieldValue{Name: f.Name, Value: f.Value})
	}
	return connect.NewResponse(res), nil
}

func (r ids) Range(ctx context.Context, req *connect.Request[pb.RangeRequest]) (*connect.Response[pb.RangeResponse], error) {
	name, _, err := r.may(ctx, server.VerbRead, req.Msg.Namespace)
	if err != nil {
		return nil, err
	}
	sp, err := r.s.Space(ctx, name)
	if err != nil {
		return nil, err
	}
	lo, hi, err := sp.Range(req.Msg.From.AsTime(), req.Msg.To.AsTime())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&pb.RangeResponse{Low: int64(lo), High: int64(hi)}), nil
}
