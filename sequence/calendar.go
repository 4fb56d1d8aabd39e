package sequence

import (
	"cmp"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// calendar says which period an instant is in: the civil date of its zone.
// A period is a number: 2026, 202611 or 20261122.
type calendar struct {
	*pattern
	zone *time.Location
}

// calendar returns the pattern and the zone of a dated sequence.
func (d Definition) calendar() (*calendar, error) {
	if d.Pattern == "" {
		return nil, fmt.Errorf("%w: it has no periods", ErrDated)
	}
	p, err := parsePattern(d.Pattern)
	if err != nil {
		return nil, err
	}
	if d.Zone == "Local" {
		return nil, fmt.Errorf("the zone is %q, which differs from machine to machine: use a name such as "+
			"Europe/Paris (%w)", d.Zone, lease.ErrInvalid)
	}
	zone, err := time.LoadLocation(d.Zone) // "" is UTC
	if err != nil {
		return nil, fmt.Errorf("the zone %q: %w: use a name such as Europe/Paris, and import time/tzdata where the "+
			"machine has no zones (%w)", d.Zone, err, lease.ErrInvalid)
	}
	return &calendar{p, zone}, nil
}

func (p *pattern) periodOf(y int, m time.Month, d int) int64 {
	switch p.finest {
	case day:
		return int64(y)*10_000 + int64(m)*100 + int64(d)
	case month:
		return int64(y)*100 + int64(m)
	case week:
		iso, w := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).ISOWeek()
		return int64(iso)*100 + int64(w)
	}
	fiscal, q := p.fiscalYear(y, m)
	if p.finest == quarter {
		return fiscal*10 + q
	}
	return fiscal
}

// fiscalYear returns the year of a month, and the quarter of that year.
func (p *pattern) fiscalYear(y int, m time.Month) (begins, quarter int64) {
	months := int(m - max(1, p.firstMonth))
	if months < 0 {
		y, months = y-1, months+12
	}
	return int64(y), int64(months/3 + 1)
}

// shownDate returns the numbers of a period in each field.
func (p *pattern) shownDate(period int64) (shown [luhn]int64) {
	y, m, d := p.dateOf(period)
	shown[fiscalYear], shown[quarter] = p.fiscalYear(y, m)
	shown[fiscalEnd] = shown[fiscalYear]
	if p.firstMonth > 1 {
		shown[fiscalEnd]++
	}
	shown[year], shown[month], shown[day] = int64(y), int64(m), int64(d)
	if p.finest == week {
		shown[year], shown[week] = period/100, period%100
	}
	return shown
}

// dateOf returns a day of a period, which is not its first or last one
// where it has several. Months from 13 on are of the year after.
func (p *pattern) dateOf(period int64) (y int, m time.Month, d int) {
	first := max(1, p.firstMonth)
	switch p.finest {
	case day:
		return int(period / 10_000), time.Month(period / 100 % 100), int(period % 100)
	case month:
		return int(period / 100), time.Month(period % 100), 15
	case week: // its Thursday; the fourth of January is in the first week
		y = int(period / 100)
		afterMonday := (int(time.Date(y, 1, 4, 0, 0, 0, 0, time.UTC).Weekday()) + 6) % 7
		return time.Date(y, 1, int(period%100)*7-afterMonday, 0, 0, 0, 0, time.UTC).Date()
	case quarter:
		return int(period / 10), first + time.Month(period%10)*3 - 3, 15
	}
	return int(period), first, 15
}

// PeriodUnit returns the length of the periods of a dated sequence: year,
// quarter, month, week or day. It is "" for a plain sequence, and for a
// pattern that is none.
func (d Definition) PeriodUnit() string {
	p, err := parsePattern(d.Pattern)
	if err != nil {
		return ""
	}
	switch p.finest {
	case quarter:
		return "quarter"
	case month:
		return "month"
	case week:
		return "week"
	case day:
		return "day"
	}
	return "year"
}

func (c *calendar) periodAt(t time.Time) int64 { return c.periodOf(t.In(c.zone).Date()) }

// dayIn returns the day of an instant if the pattern shows it: the nearest
// one of the period.
func (c *calendar) dayIn(period int64, t time.Time) int64 {
	if !c.has(dayQuarter) && !c.has(dayMonth) && !c.has(dayDay) {
		return 0
	}
	y, m, d := t.In(c.zone).Date()
	if at := c.periodOf(y, m, d); at != period {
		step := cmp.Compare(at, period)
		y, m, d = c.dateOf(period)
		for next := d; c.periodOf(time.Date(y, m, next, 0, 0, 0, 0, time.UTC).Date()) == period; next += step {
			d = next
		}
		y, m, d = time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Date()
	}
	return int64(y)*10_000 + int64(m)*100 + int64(d)
}

// periodOfDate returns the period of a date. Days that a zone left out have
// no noon: it is the noon of the day before or after.
func (c *calendar) periodOfDate(y int, m time.Month, d int) int64 {
	return c.periodAt(time.Date(y, m, d, 12, 0, 0, 0, c.zone))
}

// exists reports whether a number is a period.
func (c *calendar) exists(period int64) bool { return c.periodOfDate(c.dateOf(period)) == period }

// admitPeriod refuses a number that is no period, or a period that is more
// than one ahead.
func (c *calendar) admitPeriod(period, present int64) error {
	switch {
	case period > c.periodAfter(present):
		return fmt.Errorf("%w: %d is more than one period ahead of %d", ErrPeriod, period, present)
	case !c.exists(period):
		return fmt.Errorf("%w: %d is no period: use one such as %d", ErrPeriod, period, present)
	}
	return c.checkYears(period)
}

// periodAfter returns the period after one. Apia had no 2011-12-30.
func (c *calendar) periodAfter(period int64) int64 {
	y, m, d := c.dateOf(period)
	for {
		switch c.finest {
		case day:
			d++
		case week:
			d += 7
		case month:
			m++
		case quarter:
			m += 3
		default:
			y++
		}
		if next := c.periodOfDate(y, m, d); next > period {
			return next
		}
	}
}

// checkYears refuses years that the pattern has no place for.
func (c *calendar) checkYears(period int64) error {
	shown := c.shownDate(period)
	width := max(c.yearWidth(year), c.yearWidth(fiscalYear), c.yearWidth(fiscalEnd))
	first, last := int64(1000), int64(9999)
	if width == 2 {
		first, last = 2000, 2099
	}
	for f := year; f <= fiscalEnd; f++ {
		switch y := shown[f]; {
		case c.yearWidth(f) < width: // the pattern lacks it, or another one tells the century
		case y > last:
			return fmt.Errorf("%w: the pattern ends with the year %d: use another sequence", ErrEnded, last)
		case y < first:
			return fmt.Errorf("%w: the pattern begins with the year %d, and period %d is before it", ErrPeriod, first,
				period)
		}
	}
	return nil
}
