package rpc

import (
	"cmp"
	"context"
	"slices"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func (r ids) Next(ctx context.Context, m *pb.NextRequest) (*pb.NextResponse, error) {
	res, o := &pb.NextResponse{}, orderOf(ctx, m.Namespace, max(m.Count, 1), m.Tag)
	if !m.Runs {
		return res, r.s.IDs.Batch(ctx, server.CallerOf(ctx), o, put(res))
	}
	o.Room = 0 // Runs knows better
	runs, err := r.s.IDs.Runs(ctx, server.CallerOf(ctx), o)
	for _, run := range runs {
		res.Runs = append(res.Runs, &pb.Run{First: int64(run.First), Last: int64(run.Last), Step: run.Step})
	}
	return res, err
}

func (r ids) NextAt(ctx context.Context, m *pb.NextAtRequest) (*pb.NextResponse, error) {
	o := orderOf(ctx, m.Namespace, max(m.Count, 1), m.Tag)
	if !m.At.IsValid() {
		o.Wrong = server.Errorf(server.Invalid, "at is missing, or is a time out of range")
	}
	made, err := r.s.IDs.Backfill(ctx, server.CallerOf(ctx), o, m.At.AsTime(), m.Node)
	res := &pb.NextResponse{}
	put(res)(made)
	return res, err
}

// The room of an ID in a message and in its encoded form, in bytes.
const (
	idBinary = 32
	idText   = 64
)

// orderOf returns the order of a request, with room for the answer.
func orderOf(ctx context.Context, namespace string, n uint32, tag *int64) server.Order {
	room := int64(idText)
	if q, ok := ctx.Value(callKey{}).(*call); ok && !q.text {
		room = idBinary
	}
	return server.Order{
		Namespace: cmp.Or(namespace, lease.DefaultNamespace), Count: int64(n), Tag: tag, Room: int64(n) * room,
	}
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

func (r ids) Stream(ctx context.Context, m *pb.StreamRequest, out *connect.ServerStream[pb.NextResponse]) error {
	res := &pb.NextResponse{}
	fill, o := put(res), orderOf(ctx, m.Namespace, cmp.Or(m.Batch, 1000), m.Tag)
	return r.s.IDs.Stream(ctx, server.CallerOf(ctx), o, m.Count, func(ids []snowfence.ID) error {
		fill(ids)
		return out.Send(res)
	})
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
	if err := id.May(server.VerbIDs, m.Name); err != nil { // before mistakes in the request
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
