package sequence

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Confirmation says up to where numbers may have been given out. One of
// Floor and Used is needed.
type Confirmation struct {
	// Floor is the first free number: no program gave out, or holds, this
	// number or one beyond it. Look for it ten seconds after the store went
	// back, because calls that were under way may still get numbers.
	Floor *int64

	// Used is the last number that any caller got, also by Reserve, in a
	// block of a Local handle, or through a server, and no lower than what
	// the [ErrRolledBack] of each running program names. A table tells it
	// only if it lost nothing. If it went back too, find a floor. After
	// Used, Confirm skips as many numbers as Programs can hold: twice the
	// largest range for each. If the store also lost a larger MaxRange, set
	// that again first. Where Confirm would skip all, it refuses.
	Used *int64

	// Programs is how many programs took numbers that the store lost, also
	// stopped programs; 0 means 100. It has a meaning only with Used.
	Programs int64
}

const usualPrograms = 100

// Confirm lets a sequence go on after its store was rolled back or failed
// over. It never lowers the count of numbers given out. In a dated
// sequence, it closes the periods that ended more than an hour ago for
// good, and the others start at the floor or above.
func Confirm(ctx context.Context, st store.Store, name string, c Confirmation) error {
	if (c.Floor == nil) == (c.Used == nil) || c.Programs < 0 {
		return fmt.Errorf("sequence %q: give a floor, or the last number used and the number of programs (%w)",
			name, lease.ErrInvalid)
	}
	return update(ctx, st, name, false, func(s *state) (bool, error) {
		if err := s.liveError(); err != nil {
			return false, err
		}
		floor := c.firstFree(*s)
		if c.Used != nil && floor >= s.course.count {
			return false, fmt.Errorf("sequence %q: programs could hold all numbers after %d, and none would be left: "+
				"find a floor beyond those that they have, and confirm it (%w)", name, *c.Used, lease.ErrRefused)
		}
		return true, s.confirmState(ctx, floor)
	})
}

// Restored tells a sequence that its store has older data again: from a
// backup, a copy, a stale replica or an edit by hand. The sequence then
// does what AfterFailover says: it stops until [Confirm], skips numbers at
// the next take, or trusts the store. Call it before programs start. It may
// be repeated.
func Restored(ctx context.Context, st store.Store, name string) (Info, error) {
	err := update(ctx, st, name, false, func(s *state) (bool, error) {
		s.Identity = "restored at " + world.From(ctx).Now().UTC().Format(time.RFC3339Nano) // no store has it
		return true, s.liveError()
	})
	if err != nil {
		return Info{}, err
	}
	return Show(ctx, st, name)
}

// firstFree returns the first ordinal that no program has.
func (c Confirmation) firstFree(s state) int64 {
	if c.Floor != nil {
		return s.course.ordinalOf(*c.Floor)
	}
	programs := c.Programs
	if programs == 0 {
		programs = usualPrograms
	}
	held := int64(math.MaxInt64)
	if largest := max(s.MaxRange, s.Largest); programs <= math.MaxInt64/(2*largest) {
		held = 2 * largest * programs
	}
	return plus(plus(s.course.ordinalOf(*c.Used), 1), held)
}

// confirmState raises the end of the given numbers, and accepts the present
// store. Programs tell a confirmation from a record that was put back,
// because it counts up, and is never before the present time.
func (s *state) confirmState(ctx context.Context, floor int64) error {
	w := world.From(ctx)
	if s.Pattern == "" {
		s.record.From = max(s.record.From, floor)
	} else if err := s.confirmPeriods(ctx, floor); err != nil {
		return err
	}
	s.Identity = s.told.Identity
	s.Confirmed = max(s.Confirmed+1, w.Now().UnixMilli())
	s.record.Generation = max(s.record.Generation, s.Confirmed)
	return nil
}

// confirmPeriods closes the periods that were over an hour ago. The open
// ones begin at the floor, up to the one after the period of a clock that
// is a day ahead.
func (s *state) confirmPeriods(ctx context.Context, floor int64) error {
	c, err := s.calendar()
	if err != nil {
		return fmt.Errorf("sequence %q: %w", s.name, err)
	}
	now := world.From(ctx).Now()
	if off := now.Sub(s.told.Now); !s.told.Now.IsZero() && off.Abs() > clockBehind {
		return fmt.Errorf("sequence %q: this clock and the store's differ by %v, so it is not certain which "+
			"period it is: set them right, and confirm again (%w)", s.name, off.Round(time.Second), lease.ErrRefused)
	}
	s.Open = max(s.Open, c.periodAt(now.Add(-clockBehind)))
	if s.Through >= s.Open {
		floor = max(floor, s.Floor)
	}
	s.Floor = floor
	s.Through = max(s.Through, c.periodAfter(c.periodAt(now.Add(24*time.Hour))))
	return nil
}

// firstUntaken returns the first ordinal that was never taken, as far as
// the store knows. For a dated sequence it looks at the periods from open
// on, which a confirmation leaves open.
func (s state) firstUntaken(ctx context.Context, st store.Store) (from, open int64, err error) {
	if s.Pattern == "" {
		return max(s.counter.From, s.Reached), 0, nil
	}
	c, err := s.calendar()
	if err != nil {
		return 0, 0, fmt.Errorf("sequence %q: %w", s.name, err)
	}
	open = c.periodAt(world.From(ctx).Now().Add(-clockBehind))
	from, err = s.highestTaken(ctx, st, open)
	return from, open, err
}
