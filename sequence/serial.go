package sequence

import (
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// Serial is one number of a dated sequence.
type Serial struct {
	Text   string // as the pattern has it; no other period and number has the same
	Period int64  // 2026, 202611 or 20261122
	N      int64
}

// Serials is numbers of one period that follow each other: First, First + step, …. They are not
// changed after they were made.
type Serials struct {
	Period, First, Count int64

	step    int64
	pattern *pattern
}

// At returns number i of them, from 0 to Count − 1.
func (r Serials) At(i int64) Serial {
	n := r.First + r.step*i
	return Serial{r.pattern.format(r.Period, n), r.Period, n}
}

// Of returns the same numbers with the texts that a definition gives them. It takes nothing: it is
// for programs that got the numbers in another way, which set Period, First and Count alone.
func (r Serials) Of(d Definition) (Serials, error) {
	c, err := d.calendar()
	if err == nil {
		err = c.check(r.Period)
	}
	if err == nil && (!c.exists(r.Period) || r.First < 0 || r.Count < 1) {
		err = fmt.Errorf("%w: %d numbers from %d on in period %d", ErrPeriod, r.Count, r.First, r.Period)
	}
	if err != nil {
		return Serials{}, fmt.Errorf("sequence: %w", err)
	}
	r.step, r.pattern = max(1, d.Step), c.pattern
	return r, nil
}

// Period returns the period of an instant: its date in the zone. It is an [ErrEnded] where the
// pattern has no place for the year.
func (d Definition) Period(t time.Time) (int64, error) {
	c, err := d.calendar()
	if err != nil {
		return 0, fmt.Errorf("sequence: %w", err)
	}
	period := c.at(t)
	return period, c.check(period)
}

func (s *Sequence) errDated() error {
	return fmt.Errorf("sequence %q: %w: it is dated, so a number needs its period: use Serial", s.name, ErrDated)
}

// errNotDated is what a plain sequence answers to calls for dated ones.
func (s *Sequence) errNotDated() error {
	return fmt.Errorf("sequence %q: %w: it is a plain one: use Next", s.name, ErrDated)
}

func (s *Sequence) errCount(n int64) error {
	return fmt.Errorf("sequence %q: %d numbers at once: use 1 to %d (%w)", s.name, n, mostAtOnce, lease.ErrInvalid)
}
