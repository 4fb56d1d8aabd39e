package lease

import (
	"context"
	"errors"
	"time"

	"github.com/snowfence/snowfence/lease/internal/fault"
)

// now returns the time that leases go by.
func (s *setup) now() time.Time {
	now, _ := s.opts.clock.Time()
	return now
}

// clock returns the time for leasing ticks. It is [ErrSkew]
// if the clock and the store's differ by more than allowed.
func (c *storeClaim) clock(ctx context.Context) (time.Time, error) {
	now, err := fault.CheckedClock(ctx, c.st, c.now, c.opts.MaxSkew)
	if !errors.Is(err, ErrSkew) {
		return now, err
	}
	wall, wrong := fault.CheckedClock(ctx, c.st, c.opts.clock.Wall, c.opts.MaxSkew)
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
