package server

import (
	"context"
	"errors"

	"github.com/snowfence/snowfence/cmd/internal/view"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/sequence"
)

// ListSequences lists the sequences that the caller may see, deleted ones
// too.
func (s *Management) ListSequences(ctx context.Context, _ *pb.SequenceListRequest) (*pb.SequenceListResponse, error) {
	var list []sequence.Info
	if err := s.core.reserveList(CallerOf(ctx), &s.lists.sequences, func() (n int, err error) {
		list, err = sequence.List(ctx, s.sequences.counts)
		return len(list), err
	}); err != nil {
		return nil, err
	}
	out := &pb.SequenceListResponse{}
	for _, i := range list {
		if CallerOf(ctx).Sees(i.Name) {
			out.Sequences = append(out.Sequences, view.Sequence(i))
		}
	}
	return out, nil
}

// ShowSequence returns one, also a deleted one.
func (s *Management) ShowSequence(ctx context.Context, m *pb.SequenceShowRequest) (*pb.Sequence, error) {
	i, err := sequence.Show(ctx, s.sequences.counts, m.Name)
	if err != nil {
		return nil, err
	}
	return view.Sequence(i), nil
}

// CreateSequence makes one: where there is one already, it is as asked for,
// or that is an error. A deleted one is made again, and goes on where it
// was.
func (s *Management) CreateSequence(ctx context.Context, m *pb.SequenceCreateRequest) (*pb.Sequence, error) {
	after, err := afterFailover(m.AfterFailover)
	if err != nil {
		return nil, err
	}
	d := sequence.Definition{
		Mode: sequence.Mode(m.Mode), Start: m.Start, Step: m.GetStep(), Max: m.Max, MinRange: m.MinRange,
		MaxRange: m.MaxRange, Pattern: m.Pattern, Zone: m.Zone,
	}
	if m.Step != nil && d.Step == 0 {
		return nil, Errorf(Invalid, "sequence %q: the step is 0: use another one, or leave it out", m.Name)
	}
	if after != nil {
		d.AfterFailover = *after
	}
	have, err := sequence.Show(ctx, s.sequences.counts, m.Name)
	made := errors.Is(err, sequence.ErrNoSequence) || err == nil && have.Deleted
	if err != nil && !made {
		return nil, err
	}
	if err := sequence.Create(ctx, s.sequences.counts, m.Name, d); err != nil {
		return nil, err
	}
	out, err := s.ShowSequence(ctx, &pb.SequenceShowRequest{Name: m.Name})
	if err != nil {
		return nil, err
	}
	if made {
		CallerOf(ctx).Made = true
		s.sequences.askAnew(m.Name)
	}
	// A definition cannot tell "stop" from an absent field.
	if after != nil && out.AfterFailover != m.AfterFailover {
		return nil, Errorf(Exists, "sequence %q has after_failover %s, not %s: change the sequence", m.Name,
			out.AfterFailover, m.AfterFailover)
	}
	return out, nil
}

// afterFailover reads a sequence's reaction to a failover; nil where text
// is empty.
func afterFailover(text string) (*int64, error) {
	if text == "" {
		return nil, nil
	}
	n, err := view.ParseAfterFailover(text)
	if err != nil {
		return nil, Errorf(Invalid, "after a failover: %w", err)
	}
	return &n, nil
}

// ChangeSequence changes the parts of a sequence that can change while
// programs use it.
func (s *Management) ChangeSequence(ctx context.Context, m *pb.SequenceChangeRequest) (*pb.Sequence, error) {
	after, err := afterFailover(m.AfterFailover)
	if err != nil {
		return nil, err
	}
	c := sequence.Changes{Max: m.Max, MinRange: m.MinRange, MaxRange: m.MaxRange, AfterFailover: after}
	if c == (sequence.Changes{}) {
		return nil, Errorf(Invalid, "sequence %q: nothing is to change: name max, min_range, max_range or "+
			"after_failover", m.Name)
	}
	if err := sequence.Update(ctx, s.sequences.counts, m.Name, c); err != nil {
		return nil, err
	}
	s.sequences.askAnew(m.Name)
	return s.ShowSequence(ctx, &pb.SequenceShowRequest{Name: m.Name})
}

// ConfirmSequence lets a sequence go on after its store was rolled back or
// failed over.
func (s *Management) ConfirmSequence(ctx context.Context, m *pb.SequenceConfirmRequest) (*pb.Sequence, error) {
	c := sequence.Confirmation{Floor: m.Floor, Used: m.Used, Programs: m.Programs}
	if err := sequence.Confirm(ctx, s.sequences.counts, m.Name, c); err != nil {
		return nil, err
	}
	s.sequences.askAnew(m.Name)
	return s.ShowSequence(ctx, &pb.SequenceShowRequest{Name: m.Name})
}

// DeleteSequence ends one, with its name as confirmation. Other servers
// give out the numbers that they hold.
func (s *Management) DeleteSequence(
	ctx context.Context, m *pb.SequenceDeleteRequest,
) (*pb.SequenceDeleteResponse, error) {
	if m.Confirm != m.Name {
		return nil, Errorf(Refused, "deleting sequence %q needs its name as confirmation", Clip(m.Name))
	}
	if err := sequence.Delete(ctx, s.sequences.counts, m.Name); err != nil {
		return nil, err
	}
	s.sequences.dropSequence(m.Name)
	s.sequences.askAnew(m.Name)
	return &pb.SequenceDeleteResponse{}, nil
}
