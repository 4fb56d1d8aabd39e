package server

import (
	"context"
	"errors"

	"github.com/snowfence/snowfence/cmd/internal/view"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/sequence"
)

// ListSequences lists those that the caller may see, deleted ones too.
func (s *Service) ListSequences(ctx context.Context, _ *pb.SequenceListRequest) (*pb.SequenceListResponse, error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	var list []sequence.Info
	if err := s.reserveList(CallerOf(ctx), &s.lists.sequences, func() (n int, err error) {
		list, err = sequence.List(ctx, s.counts)
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
func (s *Service) ShowSequence(ctx context.Context, m *pb.SequenceShowRequest) (*pb.Sequence, error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	return s.showSequence(ctx, m.Name)
}

func (s *Service) showSequence(ctx context.Context, name string) (*pb.Sequence, error) {
	i, err := sequence.Show(ctx, s.counts, name)
	if err != nil {
		return nil, err
	}
	return view.Sequence(i), nil
}

// CreateSequence makes one: where there is one already, it is as asked for,
// or that is an error. A deleted one is made again, and goes on where it
// was.
func (s *Service) CreateSequence(ctx context.Context, m *pb.SequenceCreateRequest) (*pb.Sequence, error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
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
	have, err := sequence.Show(ctx, s.counts, m.Name)
	made := errors.Is(err, sequence.ErrNoSequence) || err == nil && have.Deleted
	if err != nil && !made {
		return nil, err
	}
	if err := sequence.Create(ctx, s.counts, m.Name, d); err != nil {
		return nil, err
	}
	out, err := s.showSequence(ctx, m.Name)
	if err != nil {
		return nil, err
	}
	if made {
		CallerOf(ctx).Made = true
		s.SequenceChanged(m.Name)
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
func (s *Service) ChangeSequence(ctx context.Context, m *pb.SequenceChangeRequest) (*pb.Sequence, error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	after, err := afterFailover(m.AfterFailover)
	if err != nil {
		return nil, err
	}
	c := sequence.Changes{Max: m.Max, MinRange: m.MinRange, MaxRange: m.MaxRange, AfterFailover: after}
	if c == (sequence.Changes{}) {
		return nil, Errorf(Invalid, "sequence %q: nothing is to change: name max, min_range, max_range or "+
			"after_failover", m.Name)
	}
	if err := sequence.Update(ctx, s.counts, m.Name, c); err != nil {
		return nil, err
	}
	s.SequenceChanged(m.Name)
	return s.showSequence(ctx, m.Name)
}

// ConfirmSequence lets a sequence go on after its store was rolled back or
// failed over.
func (s *Service) ConfirmSequence(ctx context.Context, m *pb.SequenceConfirmRequest) (*pb.Sequence, error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	c := sequence.Confirmation{Floor: m.Floor, Used: m.Used, Programs: m.Programs}
	if err := sequence.Confirm(ctx, s.counts, m.Name, c); err != nil {
		return nil, err
	}
	s.SequenceChanged(m.Name)
	return s.showSequence(ctx, m.Name)
}

// DeleteSequence ends one, with its name as confirmation. Other servers
// give out the numbers that they hold.
func (s *Service) DeleteSequence(
	ctx context.Context, m *pb.SequenceDeleteRequest,
) (*pb.SequenceDeleteResponse, error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	if m.Confirm != m.Name {
		return nil, Errorf(Refused, "deleting sequence %q needs its name as confirmation", Clip(m.Name))
	}
	if err := sequence.Delete(ctx, s.counts, m.Name); err != nil {
		return nil, err
	}
	s.dropSequence(m.Name)
	s.SequenceChanged(m.Name)
	return &pb.SequenceDeleteResponse{}, nil
}

// dropSequence closes a sequence if the server has it open. The next
// request opens it anew.
func (s *Service) dropSequence(name string) {
	q := &s.sequences
	q.mu.Lock()
	defer q.mu.Unlock()
	if sq := q.all[name]; sq != nil && !q.ended {
		delete(q.all, name)
		q.work.Go(sq.close)
	}
}

// Numbers returns numbers that were taken as callers see them, without
// their texts.
func (s *Service) Numbers(name string, got Numbers) *pb.SequenceNextResponse {
	out := &pb.SequenceNextResponse{First: got.First, Last: got.Last(), Step: got.Step, Period: got.Period}
	if got.Serials.Taken > 0 {
		out.Taken = &got.Serials.Taken
	}
	q := &s.sequences
	q.mu.Lock()
	sq := q.all[name]
	q.mu.Unlock()
	if sq != nil {
		out.Left = sq.numbers.Status().Left
	}
	return out
}
