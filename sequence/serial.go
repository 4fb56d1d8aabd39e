package sequence

import (
	"fmt"
	"strconv"
	"time"
)

// Serial is one number of a sequence with its text.
type Serial struct {
	Text   string // in the form of the pattern; each period and number has another one
	Period int64  // 2026, 202611 or 20261122; 0 for a plain sequence, whose text is the number
	N      int64
}

// Serials is Count numbers of one period that follow each other: First,
// First + step, … It is immutable.
type Serials struct {
	Period, First, Count int64

	// Taken is the day in the zone on which they were taken, as in
	// 20261122, or the nearest one of their period. It is 0 if the pattern
	// shows no more than the period.
	Taken int64

	step    int64
	pattern *pattern
}

// serialOf returns a number of a period, or of a plain sequence where there
// is no calendar.
func (c *calendar) serialOf(period, n int64, now time.Time) Serial {
	if c == nil {
		return Serial{Text: strconv.FormatInt(n, 10), N: n}
	}
	return Serial{c.textOf(period, c.dayIn(period, now), n), period, n}
}

// At returns number i of them, from 0 to Count − 1.
func (r Serials) At(i int64) Serial {
	n := r.First + r.step*i
	return Serial{r.pattern.textOf(r.Period, r.Taken, n), r.Period, n}
}

// Of returns the same numbers with the texts that a definition gives them.
// It takes no numbers. It is for programs that got the numbers in another
// way, and set the exported fields.
func (r Serials) Of(d Definition) (Serials, error) {
	c, err := d.calendar()
	if err == nil {
		err = c.checkYears(r.Period)
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

// Period returns the period of an instant: its date in the zone. It returns
// [ErrEnded] if the pattern has no place for the year.
func (d Definition) Period(t time.Time) (int64, error) {
	c, err := d.calendar()
	if err != nil {
		return 0, fmt.Errorf("sequence: %w", err)
	}
	period := c.periodAt(t)
	return period, c.checkYears(period)
}
