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

func (r ids) Next(ctx context.Context, m *pb.NextRequest) (*pb.NextResponse, error) {
	n := int64(max(m.Count, 1))
	name, _, err := authorize(ctx, server.VerbIDs, m.Namespace, n)
	if err != nil {
		return nil, err
	}
	if err := server.CheckCount(n); err != nil {
		return nil, err
	}
	sp, err := r.s.Spaces.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	res := &pb.NextResponse{}
	if m.Runs {
		if err := r.s.Reserve(server.CallerOf(ctx), sp.RunsRoom(n)); err != nil {
			return nil, err
		}
		runs, err := sp.Runs(ctx, n, m.Tag)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			sp.Made.Add(run.Len())
			res.Runs = append(res.Runs, &pb.Run{First: int64(run.First), Last: int64(run.Last), Step: run.Step})
		}
		return res, nil
	}
	if err := reserveIDs(ctx, r.s, n); err != nil {
		return nil, err
	}
	if err := sp.Batch(ctx, int(n), m.Tag, put(res)); err != nil {
		return nil, err
	}
	sp.Made.Add(n)
	return res, nil
}

func (r ids) NextAt(ctx context.Context, m *pb.NextAtRequest) (*pb.NextResponse, error) {
	n := int64(max(m.Count, 1))
	name, _, err := authorize(ctx, server.VerbIDs, m.Namespace, n)
	if err != nil {
		return nil, err
	}
	sp, err := r.s.Spaces.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	if !m.At.IsValid() {
		return nil, server.Errorf(server.Invalid, "at is missing, or is a time out of range")
	}
	if err := server.CheckCount(n); err != nil {
		return nil, err
	}
	if err := reserveIDs(ctx, r.s, n); err != nil {
		return nil, err
	}
	made, err := sp.Backfill(ctx, m.At.AsTime(), m.Node, n, m.Tag)
	if err != nil {
		return nil, err
	}
	res := &pb.NextResponse{}
	put(res)(made)
	return res, nil
}

// put returns a function that adds IDs to an answer.
func put(res *pb.NextResponse) func([]snowfence.ID) {
	return func(ids []snowfence.ID) {
		res.Ids = slices.Grow(res.Ids[:0], len(ids))[:len(ids)]
		for i, id := range ids {
			res.Ids[i] = int64(id)
		}
	}
}

func (r ids) Stream(
	ctx context.Context, m *pb.StreamRequest, out *connect.ServerStream[pb.NextResponse],
) error {
	batch := int64(m.Batch)
	if batch == 0 {
		batch = 1000
	}
	name, id, err := authorize(ctx, server.VerbIDs, m.Namespace, 1)
	if err != nil {
		return err
	}
	if err := server.CheckCount(batch); err != nil {
		return err
	}
	if _, err := r.s.Spaces.Find(ctx, name); err != nil { // before anything is held for it
		return err
	}
	if err := reserveIDs(ctx, r.s, batch); err != nil {
		return err
	}
	res := &pb.NextResponse{}
	for left := m.Count; m.Count == 0 || left > 0; {
		n := batch
		if m.Count > 0 {
			n = int64(min(uint64(n), left))
		}
		n, err := r.s.IDs.Piece(ctx, id, name, n, m.Tag, put(res))
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

func (r ids) Decode(ctx context.Context, m *pb.DecodeRequest) (*pb.DecodeResponse, error) {
	sp, err := r.s.Spaces.Find(ctx, m.Namespace)
	if err != nil {
		return nil, err
	}
	id := snowfence.ID(m.Id)
	if m.Text != "" {
		form, err := server.ParseForm(m.Format, m.Prefix)
		if err != nil {
			return nil, err
		}
		if id, err = form.Parse(m.Text); err != nil {
			return nil, err
		}
	}
	p, err := sp.Decode(id)
	if err != nil {
		return nil, err
	}
	return &pb.DecodeResponse{
		Id: int64(id), Time: timestamppb.New(p.Time), Tick: p.Tick, Node: p.Node, Sequence: p.Sequence,
		Layout: sp.Scheme().Layout().String(), Fields: sp.Fields(p),
	}, nil
}

func (r ids) Range(ctx context.Context, m *pb.RangeRequest) (*pb.RangeResponse, error) {
	sp, err := r.s.Spaces.Find(ctx, m.Namespace)
	if err != nil {
		return nil, err
	}
	if !m.From.IsValid() || !m.To.IsValid() {
		return nil, server.Errorf(server.Invalid, "the times from and to are missing, or out of range")
	}
	if err := r.s.Reserve(server.CallerOf(ctx), sp.RangesRoom()); err != nil {
		return nil, err
	}
	list, several, err := sp.Ranges(m.From.AsTime(), m.To.AsTime(), m.Within)
	if err != nil {
		return nil, err
	}
	if several {
		return &pb.RangeResponse{Ranges: list}, nil
	}
	return &pb.RangeResponse{Low: &list[0].Low, High: &list[0].High}, nil
}

// NextNumbers is SequenceService.Next.
func (r ids) NextNumbers(ctx context.Context, m *pb.SequenceNextRequest) (*pb.SequenceNextResponse, error) {
	id, n := server.CallerOf(ctx).Identity, int64(max(m.Count, 1))
	if err := id.May(server.VerbIDs, m.Name); err != nil { // who may not ask is told that first
		return nil, err
	}
	texts := n
	if m.WithoutNumbers {
		texts = 0
	}
	got, err := r.s.Sequences.Take(ctx, server.CallerOf(ctx), m.Name, m.Period, n, texts)
	if err != nil {
		return nil, err
	}
	res := r.s.Sequences.Numbers(m.Name, got)
	if m.WithoutNumbers {
		return res, nil
	}
	res.Numbers = make([]string, n)
	for i := range n {
		res.Numbers[i] = got.Text(i)
	}
	return res, nil
}
