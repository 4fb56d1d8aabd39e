package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// now returns the time that leases go by.
func (s *setup) now() time.Time {
	now, _ := s.opts.clock.Time()
	return now
}

// clock returns the time for leasing ticks. It is [ErrSkew]
// if the clock and the store's differ by more than allowed.
func (c *storeClaim) clock(ctx context.Context) (time.Time, error) {
	now, err := checkedClock(ctx, c.st, c.now, c.opts.MaxSkew)
	if !errors.Is(err, ErrSkew) {
		return now, err
	}
	wall, wrong := checkedClock(ctx, c.st, c.opts.clock.Wall, c.opts.MaxSkew)
	if wrong != nil {
		return now, err
	}
	c.correct(now.Sub(wall))
	return wall, nil
}

// correct makes the wall clock the time, because it agrees with the clock
// that decides.
//
// Invariant: floors and the word of the generator only rise, so the time
// decides no uniqueness.
func (s *setup) correct(by time.Duration) {
	s.opts.clock.Correct()
	s.opts.Logger.Info("the clock was ahead and is right again: new IDs have its time",
		"namespace", s.name, "label", s.opts.Label, "ahead", by.Round(time.Millisecond))
}

// checkedClock returns the time of a clock. It is [ErrSkew] if the store's
// clock disagrees.
func checkedClock(ctx context.Context, st store.Store, read func() time.Time, skew time.Duration) (time.Time, error) {
	before := read()
	theirs, err := st.Now(ctx)
	if err != nil {
		return before, fmt.Errorf("lease: asking the store for its time: %w", err)
	}
	after := read()
	if err := compareClocks(before, theirs, after, skew, "the store's"); err != nil {
		return after, err
	}
	if theirs.IsZero() {
		return after, nil
	}
	return before, nil // the clock may have jumped ahead before the second reading
}

// compareClocks is [ErrSkew] if a clock that was read between two readings
// of ours is further off than allowed. The zero time stands for no clock.
func compareClocks(before, theirs, after time.Time, skew time.Duration, whose string) error {
	ahead, behind := before.Sub(theirs), theirs.Sub(after)
	off := max(ahead, behind)
	if theirs.IsZero() || off <= skew {
		return nil
	}
	word := "ahead of"
	if behind > ahead {
		word = "behind"
	}
	return fmt.Errorf("lease: %w: this machine's clock is %v %s %s, more than %v: correct the wrong one",
		ErrSkew, off.Round(time.Millisecond), word, whose, skew)
}
