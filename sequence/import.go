package sequence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Import makes a sequence that goes on with counters of another program,
// which have stopped. last has the last number of each period; of a plain
// sequence, of period 0. The definition needs no Start: a plain sequence
// starts after its number, and a period begins after its own.
//
// If the sequence exists, it must have the same definition, and must not
// have given a number up to the last one of its period. Otherwise Import
// returns [lease.ErrExists]. It may be repeated with the same numbers.
func Import(ctx context.Context, st store.Store, name string, d Definition, last map[int64]int64) error {
	if err := checkName(name); err != nil {
		return err
	}
	next, end := int64(1), int64(math.MaxInt64)
	if d.Step < 0 {
		next, end = -1, math.MinInt64
	}
	for _, number := range last {
		if number == end {
			return fmt.Errorf("sequence %q: %w: the other counter is at %d", name, ErrEnded, number)
		}
	}
	if number, ok := last[0]; ok && len(last) == 1 && d.Pattern == "" {
		d.Start = new(number + next)
		return Create(ctx, st, name, d)
	}
	full, way, err := d.withDefaults()
	if err != nil {
		return fmt.Errorf("sequence %q: %w", name, err)
	}
	c, err := full.calendar()
	if err != nil {
		return fmt.Errorf("sequence %q: %w", name, err)
	}
	ordinals := map[int64]int64{}
	for period := range last {
		if !c.exists(period) {
			return fmt.Errorf("sequence %q: %w: %d is no period of pattern %q", name, ErrPeriod, period, d.Pattern)
		}
		if err := c.checkYears(period); err != nil {
			return fmt.Errorf("sequence %q: %w", name, err)
		}
		from := way.ordinalOf(last[period] + 1)
		if from > way.count {
			return fmt.Errorf("sequence %q: %w: the other counter is at %d in period %d, and pattern %q ends at %d",
				name, ErrEnded, last[period], period, d.Pattern, *full.Max)
		}
		ordinals[period] = from
	}
	if s, err := read(ctx, st, name); err == nil && !s.Deleted && s.firstDifference(d, full) != "" {
		return s.differenceError(s.firstDifference(d, full)) // before its periods are raised
	} else if err != nil && !errors.Is(err, ErrNoSequence) {
		return err
	}
	raise := func() error {
		for _, period := range slices.Sorted(maps.Keys(ordinals)) {
			if err := begin(ctx, st, name, period, ordinals[period]); err != nil {
				return err
			}
		}
		return nil
	}
	// Before the sequence is there: else a program could take the first
	// numbers.
	if err := raise(); err != nil {
		return err
	}
	if err := Create(ctx, st, name, d); err != nil {
		return err
	}
	return raise() // a move that came in between may have replaced periods
}

// begin raises the record of a period to an ordinal. The first take gives
// the record the generation of its definition. The label tells a repeated
// import from numbers that the sequence itself gave.
func begin(ctx context.Context, st store.Store, name string, period, from int64) error {
	w, label := world.From(ctx), fmt.Sprintf("imported up to ordinal %d", from)
	for {
		r, _, err := readPeriod(ctx, st, name, period)
		switch {
		case err != nil || from == 0 || r.Label == label:
			return err
		case r.From > 0:
			return fmt.Errorf("sequence %q: %d numbers of period %d were taken already, and the other counter gave "+
				"them, too (%w)", name, r.From, period, lease.ErrExists)
		}
		old := r.Nonce
		r.Nonce, r.From, r.Label = w.Text(), from, label
		r.Revision++
		r.At = w.Now().UnixMilli()
		if _, err = store.Put(ctx, st, store.Write{Old: old, New: r}); err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrLost) {
			return fmt.Errorf("sequence %q: writing period %d: %w", name, period, err)
		}
	}
}
