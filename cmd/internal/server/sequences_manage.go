package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/snowfence/snowfence/sequence"
)

// SequenceInfo is a sequence as people see it.
type SequenceInfo struct {
	Name          string `json:"name"`
	State         string `json:"state"` // active, ended, rolled-back, pending or deleted
	Mode          string `json:"mode"`
	Start         int64  `json:"start,string"`
	Step          int64  `json:"step,string"`
	Max           int64  `json:"max,string"`
	Pattern       string `json:"pattern,omitempty"` // of a dated one
	Zone          string `json:"zone,omitempty"`    // of its dates
	MinRange      int64  `json:"min_range"`
	MaxRange      int64  `json:"max_range"`
	AfterFailover string `json:"after_failover"`        // stop, trust, or how many numbers are skipped
	Period        int64  `json:"period,omitempty"`      // the present one of a dated one, which next and left are of
	Next          *int64 `json:"next,string,omitempty"` // the first number that no program has
	Left          int64  `json:"left,string"`           // how many numbers no program has
	Last          string `json:"-"`                     // the highest that anybody may have, as people read it; "" if none
}

// finalNumber returns the last number of a sequence: Max, or the one before it that a step reaches.
// The numbers may span more than an int64 holds.
func finalNumber(d sequence.Definition) int64 {
	if d.Step < 0 {
		return *d.Max + int64((uint64(*d.Start)-uint64(*d.Max))%-uint64(d.Step))
	}
	return *d.Max - int64((uint64(*d.Max)-uint64(*d.Start))%uint64(d.Step))
}

// lastOf returns the highest number that anybody may have, with its date where it has one.
func lastOf(i sequence.Info) string {
	d := i.Definition
	last := i.Next - d.Step
	switch {
	case i.Left == 0 && d.Pattern != "":
		return "" // the period may be closed
	case i.Left == 0:
		last = finalNumber(d)
	case i.Next == *d.Start:
		return ""
	case d.Pattern != "":
		r, err := sequence.Serials{Period: i.Period, First: last, Count: 1}.Of(d)
		if err != nil {
			return ""
		}
		return r.At(0).Text
	}
	return strconv.FormatInt(last, 10)
}

func describeSequence(i sequence.Info) SequenceInfo {
	d := i.Definition
	out := SequenceInfo{
		Name: i.Name, State: "active", Mode: string(d.Mode), Start: *d.Start, Step: d.Step, Max: *d.Max,
		Pattern: d.Pattern, Zone: d.Zone, MinRange: d.MinRange, MaxRange: d.MaxRange,
		AfterFailover: afterFailoverText(d.AfterFailover), Period: i.Period, Left: i.Left,
	}
	if i.Left > 0 {
		out.Next = &i.Next
	}
	out.Last = lastOf(i)
	switch {
	case i.Deleted:
		out.State = "deleted"
	case i.RolledBack:
		out.State = "rolled-back"
	case i.Left == 0:
		out.State = "ended"
	}
	return out
}

func afterFailoverText(n int64) string {
	switch n {
	case sequence.Stop:
		return "stop"
	case sequence.Trust:
		return "trust"
	}
	return strconv.FormatInt(n, 10)
}

// ParseAfterFailover reads what a sequence does after a failover; nil where text is empty.
func ParseAfterFailover(text string) (*int64, error) {
	switch text {
	case "":
		return nil, nil
	case "stop":
		return new(int64(sequence.Stop)), nil
	case "trust":
		return new(int64(sequence.Trust)), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return nil, Errorf(Invalid, "after a failover: %q: write stop, trust, or how many numbers are skipped",
			Clip(text))
	}
	return &n, nil
}

// SequenceSpec is what a request says of a sequence. What it does not mention stays as it is; in a
// new sequence it is as usual.
type SequenceSpec struct {
	Mode               string
	Start, Step, Max   *int64
	MinRange, MaxRange int64
	AfterFailover      string
	Pattern, Zone      string
}

// ListSequences lists those that a caller may see, deleted ones too.
func (s *Service) ListSequences(ctx context.Context, who *Identity) ([]SequenceInfo, error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	list, err := sequence.List(ctx, s.counts)
	if err != nil {
		return nil, err
	}
	out := []SequenceInfo{}
	for _, i := range list {
		if who.Sees(i.Name) {
			out = append(out, describeSequence(i))
		}
	}
	return out, nil
}

// ShowSequence returns one, also a deleted one.
func (s *Service) ShowSequence(ctx context.Context, name string) (SequenceInfo, error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	i, err := sequence.Show(ctx, s.counts, name)
	if err != nil {
		return SequenceInfo{}, err
	}
	return describeSequence(i), nil
}

// CreateSequence makes one, and reports whether it did: where there is one already, it is as asked
// for, or that is an error. A deleted one is made again, and goes on where it was.
func (s *Service) CreateSequence(
	ctx context.Context, name string, w SequenceSpec,
) (info SequenceInfo, made bool, err error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	after, err := ParseAfterFailover(w.AfterFailover)
	if err != nil {
		return info, false, err
	}
	d := sequence.Definition{
		Mode: sequence.Mode(w.Mode), Start: w.Start, Max: w.Max, MinRange: w.MinRange, MaxRange: w.MaxRange,
		Pattern: w.Pattern, Zone: w.Zone,
	}
	if w.Step != nil {
		if d.Step = *w.Step; d.Step == 0 {
			return info, false, Errorf(Invalid, "sequence %q: the step is 0: use another one, or leave it out", name)
		}
	}
	if after != nil {
		d.AfterFailover = *after
	}
	have, err := sequence.Show(ctx, s.counts, name)
	made = errors.Is(err, sequence.ErrNoSequence) || err == nil && have.Deleted
	if err != nil && !made {
		return info, false, err
	}
	if err := sequence.Create(ctx, s.counts, name, d); err != nil {
		return info, false, err
	}
	if info, err = s.ShowSequence(ctx, name); err != nil {
		return info, false, err
	}
	if made {
		s.sequenceEvent(ctx, name, fmt.Sprintf("created: %s, from %d to %d", info.Mode, info.Start, info.Max))
	}
	// A definition cannot tell "stop" from what is not mentioned.
	if after != nil && info.AfterFailover != w.AfterFailover {
		return info, false, Errorf(Exists, "sequence %q: its action after a failover is %s, not %s: change it", name,
			info.AfterFailover, w.AfterFailover)
	}
	return info, made, nil
}

// ChangeSequence changes what can be changed while programs use a sequence.
func (s *Service) ChangeSequence(ctx context.Context, name string, w SequenceSpec) (SequenceInfo, error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	after, err := ParseAfterFailover(w.AfterFailover)
	if err != nil {
		return SequenceInfo{}, err
	}
	c := sequence.Changes{Max: w.Max, MinRange: w.MinRange, MaxRange: w.MaxRange, AfterFailover: after}
	if c == (sequence.Changes{}) {
		return SequenceInfo{}, Errorf(Invalid, "sequence %q: nothing is to change: name max, min_range, max_range or "+
			"after_failover", name)
	}
	if err := sequence.Update(ctx, s.counts, name, c); err != nil {
		return SequenceInfo{}, err
	}
	s.sequenceEvent(ctx, name, "changed")
	return s.ShowSequence(ctx, name)
}

// ConfirmSequence lets a sequence go on after its store was rolled back or failed over.
func (s *Service) ConfirmSequence(
	ctx context.Context, name string, c sequence.Confirmation,
) (SequenceInfo, error) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	if err := sequence.Confirm(ctx, s.counts, name, c); err != nil {
		return SequenceInfo{}, err
	}
	info, err := s.ShowSequence(ctx, name)
	if err == nil && info.Next != nil {
		s.sequenceEvent(ctx, name, fmt.Sprintf("confirmed: it goes on at %d", *info.Next))
	}
	return info, err
}

// DeleteSequence ends one, with its name as confirmation. Other servers give out the numbers that
// they hold.
func (s *Service) DeleteSequence(ctx context.Context, name, confirm string) error {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	if confirm != name {
		return Errorf(Refused, "deleting sequence %q needs its name as confirmation", Clip(name))
	}
	if err := sequence.Delete(ctx, s.counts, name); err != nil {
		return err
	}
	s.dropSequence(name)
	s.sequenceEvent(ctx, name, "deleted")
	return nil
}

// dropSequence closes a sequence if the server has it open. The next request opens it anew.
func (s *Service) dropSequence(name string) {
	q := &s.sequences
	q.mu.Lock()
	defer q.mu.Unlock()
	if sq := q.all[name]; sq != nil && !q.ended {
		delete(q.all, name)
		q.working.Go(sq.close)
	}
}

// NumbersLeft is about how many numbers no program has of a sequence that the server has open.
func (s *Service) NumbersLeft(name string) int64 {
	q := &s.sequences
	q.mu.Lock()
	sq := q.all[name]
	q.mu.Unlock()
	if sq == nil {
		return 0
	}
	return sq.numbers.Status().Left
}

// sequenceEvent tells those who may see the sequence, as they see a namespace of that name.
func (s *Service) sequenceEvent(ctx context.Context, name, text string) {
	s.SequenceChanged(name)
	s.Events.Add(Event{Kind: "sequence", Namespace: name, Actor: actorOf(ctx), Text: text})
}
