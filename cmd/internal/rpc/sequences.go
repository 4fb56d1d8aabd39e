package rpc

import (
	"context"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence/cmd/internal/server"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/sequence"
)

type sequences struct{ *rpc }

// may checks that the caller may do something with a sequence, which has no default name.
func (r sequences) may(ctx context.Context, v server.Verb, name string) error {
	id, err := r.identify(ctx)
	if err != nil {
		return err
	}
	return id.Authorize(v, name, 1)
}

func (r sequences) Next(
	ctx context.Context, req *request[pb.SequenceNextRequest],
) (*response[pb.SequenceNextResponse], error) {
	m := req.Msg
	id, err := r.identify(ctx)
	if err != nil {
		return nil, err
	}
	n := int64(max(m.Count, 1))
	if err := id.May(server.VerbIDs, m.Name); err != nil { // who may not ask is told that first
		return nil, err
	}
	got, err := r.s.TakeNumbers(ctx, id, m.Name, m.Period, n)
	if err != nil {
		return nil, err
	}
	res := &pb.SequenceNextResponse{
		First: got.First, Last: got.Last(), Step: got.Step, Period: got.Period, Left: r.s.NumbersLeft(m.Name),
	}
	if got.Period == 0 || m.WithoutTexts {
		return connect.NewResponse(res), nil
	}
	if err := r.reserve(ctx, n); err != nil {
		return nil, err
	}
	res.Texts = make([]string, n)
	for i := range n {
		res.Texts[i] = got.Text(i)
	}
	return connect.NewResponse(res), nil
}

func protoSequence(i server.SequenceInfo) *pb.Sequence {
	return &pb.Sequence{
		Name: i.Name, State: i.State, Mode: i.Mode, Start: i.Start, Step: i.Step, Max: i.Max, MinRange: i.MinRange,
		MaxRange: i.MaxRange, AfterFailover: i.AfterFailover, Pattern: i.Pattern, Zone: i.Zone, Period: i.Period,
		Next: i.Next, Left: i.Left,
	}
}

func sequenceResponse(i server.SequenceInfo, err error) (*response[pb.Sequence], error) {
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(protoSequence(i)), nil
}

func (r sequences) Create(
	ctx context.Context, req *request[pb.SequenceCreateRequest],
) (*response[pb.Sequence], error) {
	m := req.Msg
	if err := r.may(ctx, server.VerbManage, m.Name); err != nil {
		return nil, err
	}
	i, _, err := r.s.CreateSequence(ctx, m.Name, server.SequenceSpec{
		Mode: m.Mode, Start: m.Start, Step: m.Step, Max: m.Max, MinRange: m.MinRange, MaxRange: m.MaxRange,
		AfterFailover: m.AfterFailover, Pattern: m.Pattern, Zone: m.Zone,
	})
	return sequenceResponse(i, err)
}

func (r sequences) Show(ctx context.Context, req *request[pb.SequenceShowRequest]) (*response[pb.Sequence], error) {
	if err := r.may(ctx, server.VerbRead, req.Msg.Name); err != nil {
		return nil, err
	}
	return sequenceResponse(r.s.ShowSequence(ctx, req.Msg.Name))
}

func (r sequences) List(
	ctx context.Context, _ *request[pb.SequenceListRequest],
) (*response[pb.SequenceListResponse], error) {
	id, err := r.identify(ctx)
	if err == nil {
		err = id.Authorize(server.VerbRead, "", 1)
	}
	if err != nil {
		return nil, err
	}
	list, err := r.s.ListSequences(ctx, id)
	if err != nil {
		return nil, err
	}
	res := &pb.SequenceListResponse{}
	for _, i := range list {
		res.Sequences = append(res.Sequences, protoSequence(i))
	}
	return connect.NewResponse(res), nil
}

func (r sequences) Change(
	ctx context.Context, req *request[pb.SequenceChangeRequest],
) (*response[pb.Sequence], error) {
	m := req.Msg
	if err := r.may(ctx, server.VerbManage, m.Name); err != nil {
		return nil, err
	}
	return sequenceResponse(r.s.ChangeSequence(ctx, m.Name, server.SequenceSpec{
		Max: m.Max, MinRange: m.MinRange, MaxRange: m.MaxRange, AfterFailover: m.AfterFailover,
	}))
}

func (r sequences) Confirm(
	ctx context.Context, req *request[pb.SequenceConfirmRequest],
) (*response[pb.Sequence], error) {
	m := req.Msg
	if err := r.may(ctx, server.VerbManage, m.Name); err != nil {
		return nil, err
	}
	return sequenceResponse(r.s.ConfirmSequence(ctx, m.Name, sequence.Confirmation{
		Floor: m.Floor, Used: m.Used, Programs: m.Programs,
	}))
}

func (r sequences) Delete(
	ctx context.Context, req *request[pb.SequenceDeleteRequest],
) (*response[pb.SequenceDeleteResponse], error) {
	if err := r.may(ctx, server.VerbManage, req.Msg.Name); err != nil {
		return nil, err
	}
	if err := r.s.DeleteSequence(ctx, req.Msg.Name, req.Msg.Confirm); err != nil {
		return nil, err
	}
	return connect.NewResponse(&pb.SequenceDeleteResponse{}), nil
}
