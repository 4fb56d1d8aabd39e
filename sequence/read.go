package sequence

import (
	"fmt"
	"strconv"

	"github.com/snowfence/snowfence/lease"
)

// Reader returns a function that reads the period and the number from a
// text of a dated sequence. It takes no numbers, and several goroutines may
// call it.
func (d Definition) Reader() (func(text string) (Serial, error), error) {
	c, err := d.calendar()
	if err != nil {
		return nil, fmt.Errorf("sequence: %w", err)
	}
	return func(text string) (Serial, error) {
		s, ok := c.readText(text)
		if !ok || c.checkYears(s.Period) != nil || !c.exists(s.Period) {
			return Serial{}, fmt.Errorf("%.100q is no number of the pattern %s (%w)", text, d.Pattern, lease.ErrInvalid)
		}
		return s, nil
	}, nil
}

// readText takes a text apart. All parts but the number have a fixed width.
func (p *pattern) readText(text string) (Serial, bool) {
	digits := len(text) - p.fixedWidth()
	if digits < 1 || digits > 19 {
		return Serial{}, false
	}
	s, rest := Serial{Text: text}, text
	var shown [luhn + 1]int64
	for _, q := range p.parts {
		width := q.width
		if q.field == number {
			width = digits
		}
		part := rest[:width]
		rest = rest[width:]
		if q.field == literal {
			if part != q.text {
				return Serial{}, false
			}
			continue
		}
		n, err := strconv.ParseUint(part, 10, 63) // takes no sign
		if err != nil {
			return Serial{}, false
		}
		if q.width == 2 && q.field <= fiscalEnd {
			n += 2000
		}
		shown[q.field] = int64(n)
	}
	s.N, s.Period = shown[number], p.shownPeriod(shown[:])
	if shown[dayQuarter] > 4 || shown[dayMonth] > 12 || shown[dayDay] > 31 {
		return Serial{}, false
	}
	same := p.shownDate(s.Period)
	copy(same[dayQuarter:number], shown[dayQuarter:])
	return s, s.N <= p.most && p.text(same, s.N) == text
}

// shownPeriod returns the period that a text shows, which is wrong where
// the text has no period.
func (p *pattern) shownPeriod(shown []int64) int64 {
	y, m := shown[year], shown[month]
	if p.firstMonth > 0 {
		if y = shown[fiscalYear]; !p.has(fiscalYear) || p.yearWidth(fiscalYear) < p.yearWidth(fiscalEnd) {
			y = shown[fiscalEnd]
			if p.firstMonth > 1 {
				y--
			}
		}
		if p.finest >= month && m < int64(p.firstMonth) {
			y++
		}
	}
	switch p.finest {
	case day:
		return y*10_000 + m*100 + shown[day]
	case week:
		return y*100 + shown[week]
	case month:
		return y*100 + m
	case quarter:
		return y*10 + shown[quarter]
	}
	return y
}

// yearWidth returns how many digits a year has; 0 where the pattern has
// none of this kind.
func (p *pattern) yearWidth(f field) int {
	for _, q := range p.parts {
		if q.field == f {
			return q.width
		}
	}
	return 0
}

func (p *pattern) fixedWidth() (n int) {
	for _, q := range p.parts {
		n += q.width
	}
	return n
}
