package sequence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/snowfence/snowfence/lease"
)

// field is the kind of a pattern's part.
type field int

// Units of the date rise from year to day.
const (
	literal field = iota
	year
	fiscalYear // the year in which a fiscal year begins
	fiscalEnd  // the year in which it ends
	quarter
	month
	week
	day
	dayQuarter // of the day on which a number was taken, as the next two: no part of the period
	dayMonth
	dayDay
	number
	luhn
)

type part struct {
	field field
	width int    // in bytes; 0 of the number
	text  string // of a literal
}

// pattern is the text of a number and its period. Dates have a fixed width,
// and only the number may vary, so that a text has one period and one
// number.
type pattern struct {
	parts      []part
	finest     field      // of the date: a period is one of these
	firstMonth time.Month // of a fiscal year; 0: years begin in January
	digits     int        // of the number, at least
	most       int64      // the highest number that has place
}

const (
	longestPattern = 100
	mostDigits     = 18 // of a number with a width, so that its highest one is an int64
)

const fields = "{year} or {yy}, {quarter}, {month}, {week}, {day}, {luhn}, {quarter:shown}, {month:shown} and " +
	"{day:shown}, which begin no period, and {n}, {n:6} or {n:6+} with a width of " +
	"1 to 18; for a year that begins in April {fy:4} and {fyend:4}, or {fyy:4} and {fyyend:4} with 2 digits"

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
			p.parts = append(p.parts, part{literal, len(before), before})
			rest = rest[len(before):]
			continue
		}
		name, after, closed := strings.Cut(rest[1:], "}")
		if !closed {
			return refuse("a '{' has no '}'")
		}
		q, ok := p.fieldNamed(name)
		if !ok {
			return refuse(fmt.Sprintf("{%s} is no field: use %s", name, fields))
		}
		if p.has(q.field) || p.has(luhn) {
			return refuse(fmt.Sprintf("{%s} is there twice, or beside another form of it, or after {luhn}", name))
		}
		p.parts = append(p.parts, q)
		rest = after
	}
	return p, p.checkDate(refuse)
}

// checkDate finds the period of a pattern, and refuses dates that would let
// a text come again.
func (p *pattern) checkDate(refuse func(why string) (*pattern, error)) (err error) {
	for p.finest = day; p.finest > literal && !p.has(p.finest); {
		p.finest--
	}
	fiscal := p.has(fiscalYear) || p.has(fiscalEnd)
	last := p.parts[max(0, len(p.parts)-1):]
	switch {
	case !p.has(number):
		_, err = refuse("it has no {n}")
	case p.finest == literal:
		_, err = refuse("it has no date: use {year} or {yy}, and {month} and {day} with it")
	case !p.has(year) && !fiscal || p.finest == day && !p.has(month):
		_, err = refuse("a {day} needs a {month}, and a {month}, {quarter} or {week} a {year} or {yy}: else a text " +
			"would come again")
	case p.has(year) && fiscal || p.firstMonth < 0:
		_, err = refuse("it has years that begin at different times")
	case p.has(week) && (fiscal || p.has(quarter) || p.has(month)):
		_, err = refuse("a {week} has a {year} or {yy} and nothing else, because weeks lie across months")
	case p.has(luhn) && last[0].field != luhn:
		_, err = refuse("{luhn} is the end of a text")
	}
	return err
}

// unfit reports whether a text between fields may not have a character.
func unfit(r rune) bool { return !unicode.IsPrint(r) || r == '}' || r == unicode.ReplacementChar }

func (p *pattern) has(f field) bool {
	return slices.ContainsFunc(p.parts, func(q part) bool { return q.field == f })
}

// fieldNamed returns the part for a name between braces, and notes its
// width or its first month.
func (p *pattern) fieldNamed(name string) (part, bool) {
	switch name {
	case "yy":
		return part{field: year, width: 2}, true
	case "year":
		return part{field: year, width: 4}, true
	case "quarter":
		return part{field: quarter, width: 1}, true
	case "month":
		return part{field: month, width: 2}, true
	case "week":
		return part{field: week, width: 2}, true
	case "day":
		return part{field: day, width: 2}, true
	case "quarter:shown":
		return part{field: dayQuarter, width: 1}, true
	case "month:shown":
		return part{field: dayMonth, width: 2}, true
	case "day:shown":
		return part{field: dayDay, width: 2}, true
	case "luhn":
		return part{field: luhn, width: 1}, true
	case "n":
		return part{field: number}, true
	}
	name, option, _ := strings.Cut(name, ":")
	switch name {
	case "fy":
		return part{field: fiscalYear, width: 4}, p.beginsIn(option)
	case "fyy":
		return part{field: fiscalYear, width: 2}, p.beginsIn(option)
	case "fyend":
		return part{field: fiscalEnd, width: 4}, p.beginsIn(option)
	case "fyyend":
		return part{field: fiscalEnd, width: 2}, p.beginsIn(option)
	case "n":
		return part{field: number}, p.noteWidth(option)
	}
	return part{}, false
}

// beginsIn notes the first month of a fiscal year: -1 where a pattern names
// two.
func (p *pattern) beginsIn(option string) bool {
	n, _ := strconv.Atoi(option)
	if n < 1 || n > 12 || option != strconv.Itoa(n) {
		return false
	}
	if p.firstMonth != 0 && p.firstMonth != time.Month(n) {
		n = -1
	}
	p.firstMonth = time.Month(n)
	return true
}

// noteWidth notes the width of the number, as in 6 or 6+.
func (p *pattern) noteWidth(width string) bool {
	width, widens := strings.CutSuffix(width, "+")
	n, _ := strconv.Atoi(width)
	if n < 1 || n > mostDigits || width != strconv.Itoa(n) {
		return false
	}
	p.digits = n
	if !widens {
		p.most = 1
		for range n {
			p.most *= 10
		}
		p.most--
	}
	return true
}

// textOf returns the text of a number of a period that was taken on a day,
// such as 20261122, or 0 where nobody knows it.
func (p *pattern) textOf(period, taken, n int64) string {
	shown := p.shownDate(period)
	if taken > 0 {
		m := time.Month(taken / 100 % 100)
		_, shown[dayQuarter] = p.fiscalYear(0, m)
		shown[dayMonth], shown[dayDay] = int64(m), taken%100
	}
	return p.text(shown, n)
}

// text writes question marks in place of what is not known.
func (p *pattern) text(shown [luhn]int64, n int64) string {
	text := make([]byte, 0, 32)
	unknown := false
	for _, q := range p.parts {
		switch {
		case q.field == literal:
			text = append(text, q.text...)
		case q.field == number:
			text = appendDigits(text, n, p.digits)
		case q.field == luhn && !unknown:
			text = append(text, luhnDigit(text))
		case q.field == luhn, q.field >= dayQuarter && shown[q.field] == 0:
			unknown = true
			text = append(text, "??"[:q.width]...)
		default:
			v := shown[q.field]
			if q.width == 2 {
				v %= 100 // of a year
			}
			text = appendDigits(text, v, q.width)
		}
	}
	return string(text)
}

// luhnDigit returns the check digit of the digits in a text, by Luhn's
// formula (ISO/IEC 7812-1, annex B).
func luhnDigit(text []byte) byte {
	sum, double := 0, true
	for _, c := range slices.Backward(text) {
		if c < '0' || c > '9' {
			continue
		}
		v := int(c - '0')
		if double {
			v = v*2/10 + v*2%10
		}
		sum += v
		double = !double
	}
	return byte('0' + (10-sum%10)%10)
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
