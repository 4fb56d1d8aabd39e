package sequence

import (
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// calendar says which period an instant is in: the civil date of its zone. A period is a number:
// 2026, 202611 or 20261122.
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

// period returns the period of a date.
func (p *pattern) period(y int, m time.Month, d int) int64 {
	switch p.finest {
	case year:
		return int64(y)
	case month:
		return int64(y)*100 + int64(m)
	}
	return int64(y)*10_000 + int64(m)*100 + int64(d)
}

// date returns a day of a period, which is not its first or last one where it has several.
func (p *pattern) date(period int64) (y int, m time.Month, d int) {
	m, d = 6, 15
	if p.finest == day {
		d = int(period % 100)
		period /= 100
	}
	if p.finest >= month {
		m = time.Month(period % 100)
		period /= 100
	}
	return int(period), m, d
}

// at returns the period of an instant.
func (c *calendar) at(t time.Time) int64 { return c.period(t.In(c.zone).Date()) }

// noon returns the period of a date. Days that a zone left out have no noon: it is the noon of the
// day before or after.
func (c *calendar) noon(y int, m time.Month, d int) int64 {
	return c.at(time.Date(y, m, d, 12, 0, 0, 0, c.zone))
}

// exists reports whether there is a period.
func (c *calendar) exists(period int64) bool { return c.noon(c.date(period)) == period }

// next returns the period after one. Apia had no 2011-12-30.
func (c *calendar) next(period int64) int64 {
	y, m, d := c.date(period)
	for {
		switch c.finest {
		case year:
			y++
		case month:
			m++
		default:
			d++
		}
		if next := c.noon(y, m, d); next > period {
			return next
		}
	}
}

// check refuses years that the pattern has no place for.
func (c *calendar) check(period int64) error {
	y, _, _ := c.date(period)
	first, last := 1000, 9999
	if c.shortYear {
		first, last = 2000, 2099
	}
	switch {
	case y > last:
		return fmt.Errorf("%w: {%s} ends with the year %d: use another sequence", ErrEnded, c.yearName(), last)
	case y < first:
		return fmt.Errorf("%w: {%s} begins with the year %d, and period %d is before it", ErrPeriod, c.yearName(),
			first, period)
	}
	return nil
}

func (c *calendar) yearName() string {
	if c.shortYear {
		return "yy"
	}
	return "year"
}
