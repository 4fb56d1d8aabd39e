package sequence

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// Info describes a sequence in a store.
type Info struct {
	Name       string
	Definition Definition // with every default written out
	Period     int64      // the period of Next and Left: the present one, except in the result of [Periods]
	Closed     bool       // [Confirm] closed the period for good
	Next       int64      // the first number that no program has; without meaning if Left is 0
	Left       int64      // how many numbers no program has
	Deleted    bool
	RolledBack bool // the store may have lost numbers: see [Confirm]
}

// Show returns a sequence, also a deleted one. It returns [ErrNoSequence]
// if there is none of that name.
func Show(ctx context.Context, st store.Store, name string) (Info, error) {
	s, err := read(ctx, st, name)
	if err != nil {
		return Info{}, err
	}
	return s.info(ctx, st)
}

// List returns all sequences of a store in the order of their names, also
// deleted ones. It leaves out those that were moved away.
func List(ctx context.Context, st store.Store) ([]Info, error) {
	var out []Info
	heads, told, err := st.Heads(ctx)
	if err != nil {
		return nil, fmt.Errorf("sequence: listing: %w", err)
	}
	for _, r := range heads {
		name, ok := strings.CutPrefix(r.Namespace, "#")
		if !ok {
			continue
		}
		s, err := decode(name, r)
		if errors.Is(err, store.ErrMoved) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.told = told
		if same, less := store.Compare(told.Identity, s.Identity); !same || less { // it may have one of its own
			if s, err = read(ctx, st, name); err != nil {
				return nil, err
			}
		}
		info, err := s.info(ctx, st)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

func (s state) info(ctx context.Context, st store.Store) (Info, error) {
	period := int64(0)
	if s.Pattern != "" {
		c, err := s.calendar()
		if err != nil {
			return Info{}, fmt.Errorf("sequence %q: %w", s.name, err)
		}
		period = c.periodAt(world.From(ctx).Now())
		if s.counter, _, err = readPeriod(ctx, st, s.name, period); err != nil {
			return Info{}, err
		}
	}
	return s.addPeriod(s.whole(), period), nil
}

// whole returns the facts that all periods share.
func (s state) whole() Info {
	same, less := store.Compare(s.told.Identity, s.Identity)
	return Info{
		Name: s.name, Definition: s.Definition, Deleted: s.Deleted,
		RolledBack: (!same || less) && s.AfterFailover == Stop,
	}
}

// addPeriod adds the facts of a period's record, or of a plain sequence's.
func (s state) addPeriod(i Info, period int64) Info {
	i.Period, i.Closed = period, period < s.Open
	i.Next, i.Left = s.remaining(period)
	return i
}

// remaining returns the first number that no program has, and how many
// there are: none where a period is closed.
func (s state) remaining(period int64) (next, left int64) {
	from := max(s.counter.From, s.lowestOrdinal())
	if left = s.course.count - from; left <= 0 || period < s.Open {
		return 0, 0
	}
	return s.course.numberOf(from), left
}

// Highest returns the highest number that a program may have or have given
// out, and whether there is one. period is 0 for a plain sequence.
func Highest(ctx context.Context, st store.Store, name string, period int64) (number int64, any bool, err error) {
	s, err := read(ctx, st, name)
	if err == nil {
		err = s.liveError()
	}
	if err == nil && (s.Pattern == "") != (period == 0) {
		err = fmt.Errorf("sequence %q: %w: period %d", name, ErrDated, period)
	}
	if err == nil && period != 0 {
		s.counter, _, err = readPeriod(ctx, st, name, period)
	}
	if err != nil {
		return 0, false, err
	}
	from := min(max(s.counter.From, s.lowestOrdinal()), s.course.count)
	if from == 0 {
		return 0, false, nil
	}
	return s.course.numberOf(from - 1), true, nil
}

// Periods returns the periods of a dated sequence in which numbers were
// taken, in order.
func Periods(ctx context.Context, st store.Store, name string) ([]Info, error) {
	s, err := read(ctx, st, name)
	if err != nil {
		return nil, err
	}
	if s.Pattern == "" {
		return nil, fmt.Errorf("sequence %q: %w: it is a plain one, without periods", name, ErrDated)
	}
	var out []Info
	for r, err := range s.periodStates(ctx, st, 0) {
		if err != nil {
			return nil, err
		}
		s.counter = r
		out = append(out, s.addPeriod(s.whole(), r.Node))
	}
	return out, nil
}

// highestTaken returns the first ordinal that was never taken. For a dated
// sequence it looks at the periods from one on.
func (s state) highestTaken(ctx context.Context, st store.Store, since int64) (int64, error) {
	if s.Pattern == "" {
		return s.record.From, nil
	}
	var from int64
	for r, err := range s.periodStates(ctx, st, since) {
		if err != nil {
			return 0, err
		}
		from = max(from, r.From, r.Until)
	}
	return from, nil
}

// periodStates returns the records of the periods from one on.
func (s state) periodStates(ctx context.Context, st store.Store, since int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		nodes := snowfence.NodeRange{From: since, Until: math.MaxInt64}
		for r, err := range store.Records(ctx, st, s.record.Namespace, nodes) {
			if err != nil {
				err = fmt.Errorf("sequence %q: listing its periods: %w", s.name, err)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}
