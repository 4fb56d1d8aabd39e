package sequence

import (
	"context"
	"fmt"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Create makes a sequence. If it exists, it must have the same definition,
// and nothing changes. A deleted sequence comes back with the same
// definition, and goes on where it ended; if it gave no number, it also
// comes back with another definition.
func Create(ctx context.Context, st store.Store, name string, d Definition) error {
	full, _, err := d.withDefaults()
	if err == nil && full.Pattern != "" {
		_, err = full.calendar()
	}
	if err != nil {
		return fmt.Errorf("sequence %q: %w", name, err)
	}
	return update(ctx, st, name, true, func(s *state) (bool, error) {
		if s.record.Nonce == "" {
			s.Definition = full
			s.Identity = s.told.Identity
			return true, nil
		}
		revived, different := s.Deleted, s.firstDifference(d, full)
		if different != "" && revived {
			from, err := s.highestTaken(ctx, st, 0)
			if err != nil {
				return false, err
			}
			// Takes that its programs still make fail by the generation.
			if from == 0 && s.Reached == 0 && s.Confirmed == 0 && s.told.Identity == s.Identity {
				s.Definition, different = full, ""
			} else {
				different = "it was deleted after programs had taken numbers, and " + different
			}
		}
		if different != "" {
			return false, s.differenceError(different)
		}
		s.Deleted = false
		return revived, nil
	})
}

func (s *state) differenceError(different string) error {
	return fmt.Errorf("sequence %q: %s: only max, ranges and the action after a failover can be changed: for other "+
		"changes make another sequence, which starts above this one (%w)", s.name, different, lease.ErrExists)
}

// Changes says what [Update] changes. Fields that are nil or 0 change
// nothing.
type Changes struct {
	Max                *int64
	MinRange, MaxRange int64
	AfterFailover      *int64
}

// Update changes a sequence while programs use it. Max may not be below the
// given numbers.
func Update(ctx context.Context, st store.Store, name string, c Changes) error {
	return update(ctx, st, name, false, func(s *state) (bool, error) {
		next := s.Definition
		givenOut, err := s.highestTaken(ctx, st, 0)
		if err != nil {
			return false, err
		}
		if c.Max != nil {
			next.Max = c.Max
		}
		if c.MinRange != 0 {
			next.MinRange = c.MinRange
		}
		if c.MaxRange != 0 {
			next.MaxRange = c.MaxRange
		}
		if c.AfterFailover != nil {
			next.AfterFailover = *c.AfterFailover
		}
		next, way, err := next.withDefaults()
		if err != nil {
			return false, fmt.Errorf("sequence %q: %w", name, err)
		}
		if way.count < min(givenOut, s.course.count) {
			return false, fmt.Errorf("sequence %q: max %d is below %d, which was taken already (%w)", name,
				*next.Max, s.course.numberOf(min(givenOut, s.course.count)-1), lease.ErrRefused)
		}
		s.Largest = max(s.Largest, s.MaxRange) // programs may hold such ranges
		s.Definition, s.course = next, way
		return true, s.liveError()
	})
}

// Delete ends a sequence: programs that use it get no more ranges. The
// store keeps its record, so that no number comes twice if a sequence of
// this name is created again.
func Delete(ctx context.Context, st store.Store, name string) error {
	return update(ctx, st, name, false, func(s *state) (bool, error) {
		ended := s.Deleted
		s.Deleted = true
		return !ended, nil
	})
}
