package sequence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/snowfence/snowfence/lease"
)

// field is what a part of a pattern stands for.
type field int

const (
	literal field = iota
	year
	month
	day
	number
)

type part struct {
	field field
	text  string // of a literal
}

// pattern is the text of a number and its period. Dates have a fixed width, and only the number may
// vary, so that a text has one period and one number.
type pattern struct {
	parts     []part
	finest    field // of the date: a period is one of these
	shortYear bool  // {yy}
	digits    int   // of the number, at least
	most      int64 // the highest number that has place
}

const (
	longestPattern = 100
	mostDigits     = 18 // of a number with a width, so that its highest one is an int64
)

// parsePattern reads a pattern such as RE-{year}-{n:6}.
func parsePattern(text string) (*pattern, error) {
	p := &pattern{most: exactInJavaScript}
	refuse := func(why string) (*pattern, error) {
		return nil, fmt.Errorf("pattern %q: %s (%w)", text, why, lease.ErrInvalid)
	}
	if len(text) > longestPattern {
		return refuse(fmt.Sprintf("it has more than %d bytes", longestPattern))
	}
	for rest := text; rest != ""; {
		if before, _, _ := strings.Cut(rest, "{"); before != "" {
			if strings.ContainsFunc(before, unfit) {
				return refuse("texts between fields have printable characters and no '}'")
			}
			p.parts = append(p.parts, part{literal, before})
			rest = rest[len(before):]
			continue
		}
		name, after, closed := strings.Cut(rest[1:], "}")
		if !closed {
			return refuse("a '{' has no '}'")
		}
		f, ok := p.field(name)
		if !ok {
			return refuse(fmt.Sprintf("{%s} is no field: use {year} or {yy}, {month}, {day} and {n}, {n:6} or {n:6+}, "+
				"with a width of 1 to %d", name, mostDigits))
		}
		if p.has(f) {
			return refuse(fmt.Sprintf("{%s} is there twice, or beside another form of it", name))
		}
		p.parts = append(p.parts, part{field: f})
		rest = after
	}
	for p.finest = day; p.finest > literal && !p.has(p.finest); {
		p.finest--
	}
	switch {
	case !p.has(number):
		return refuse("it has no {n}")
	case p.finest == literal:
		return refuse("it has no date: use {year} or {yy}, and {month} and {day} with it")
	case !p.has(year) || p.finest == day && !p.has(month):
		return refuse("a {day} needs a {month}, and a {month} a {year} or {yy}: else a text would come again")
	}
	return p, nil
}

// unfit reports whether a text between fields may not have a character.
func unfit(r rune) bool { return !unicode.IsPrint(r) || r == '}' || r == unicode.ReplacementChar }

func (p *pattern) has(f field) bool {
	return slices.ContainsFunc(p.parts, func(q part) bool { return q.field == f })
}

// field returns what a name between braces stands for, and notes what it says of the width.
func (p *pattern) field(name string) (field, bool) {
	switch name {
	case "yy":
		p.shortYear = true
		return year, true
	case "year":
		return year, true
	case "month":
		return month, true
	case "day":
		return day, true
	case "n":
		return number, true
	}
	width, ok := strings.CutPrefix(name, "n:")
	width, widens := strings.CutSuffix(width, "+")
	n, _ := strconv.Atoi(width)
	if !ok || n < 1 || n > mostDigits || width != strconv.Itoa(n) {
		return 0, false
	}
	p.digits = n
	if !widens {
		p.most = 1
		for range n {
			p.most *= 10
		}
		p.most--
	}
	return number, true
}

// format returns the text of a number of a period.
func (p *pattern) format(period, n int64) string {
	y, m, d := p.date(period)
	if p.shortYear {
		y %= 100
	}
	text := make([]byte, 0, 32)
	for _, q := range p.parts {
		switch q.field {
		case literal:
			text = append(text, q.text...)
		case year:
			text = appendDigits(text, int64(y), p.yearDigits())
		case month:
			text = appendDigits(text, int64(m), 2)
		case day:
			text = appendDigits(text, int64(d), 2)
		case number:
			text = appendDigits(text, n, p.digits)
		}
	}
	return string(text)
}

func (p *pattern) yearDigits() int {
	if p.shortYear {
		return 2
	}
	return 4
}

// appendDigits appends a number that is not negative, with leading zeros.
func appendDigits(text []byte, n int64, digits int) []byte {
	var buf [20]byte
	s := strconv.AppendInt(buf[:0], n, 10)
	for range digits - len(s) {
		text = append(text, '0')
	}
	return append(text, s...)
}
