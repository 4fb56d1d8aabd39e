package sequence

import (
	"fmt"
	"strconv"

	"github.com/snowfence/snowfence/lease"
)

// Reader returns a function that reads the period and the number from a text of a dated sequence.
// It takes no numbers, and several goroutines may call it.
func (d Definition) Reader() (func(text string) (Serial, error), error) {
	c, err := d.calendar()
	if err != nil {
		return nil, fmt.Errorf("sequence: %w", err)
	}
	return func(text string) (Serial, error) {
		s, ok := c.read(text)
		if !ok || c.check(s.Period) != nil || !c.exists(s.Period) {
			return Serial{}, fmt.Errorf("%.100q is no number of the pattern %s (%w)", text, d.Pattern, lease.ErrInvalid)
		}
		return s, nil
	}, nil
}

// read takes a text apart. All parts but the number have a fixed width.
func (p *pattern) read(text string) (Serial, bool) {
	digits := len(text) - p.fixedWidth()
	if digits < 1 || digits > 19 {
		return Serial{}, false
	}
	s, rest := Serial{Text: text}, text
	var y, m, d int64
	for _, q := range p.parts {
		width := p.width(q)
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
		switch q.field {
		case year:
			y = int64(n)
			if p.shortYear {
				y += 2000
			}
		case month:
			m = int64(n)
		case day:
			d = int64(n)
		case number:
			s.N = int64(n)
		}
	}
	switch s.Period = y; p.finest {
	case month:
		s.Period = y*100 + m
	case day:
		s.Period = y*10_000 + m*100 + d
	}
	return s, s.N <= p.most && p.format(s.Period, s.N) == text
}

// width is how many bytes a part has, but for the number.
func (p *pattern) width(q part) int {
	switch q.field {
	case literal:
		return len(q.text)
	case year:
		return p.yearDigits()
	case month, day:
		return 2
	}
	return 0
}

func (p *pattern) fixedWidth() (n int) {
	for _, q := range p.parts {
		n += p.width(q)
	}
	return n
}
