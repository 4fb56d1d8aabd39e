package show

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Unused says what --unused TIME promises, beside a command with it.
const Unused = "first stop the programs that have these numbers by hand; TIME is after their last ID"

// timeForms are how people write a time, and how databases print one.
// Without an offset it is UTC.
var timeForms = [...]string{
	time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, time.DateOnly,
	time.DateTime + "Z07:00", time.DateTime + "Z07", // psql prints +05:30 and +00
}

// ReadTime reads a time as people and databases write it.
func ReadTime(s string) (t time.Time, err error) {
	for _, form := range timeForms {
		if t, err = time.Parse(form, s); err == nil {
			return t.UTC(), nil
		}
	}
	return t, err
}

// ParseTime is ReadTime with an error for people.
func ParseTime(text string) (time.Time, error) {
	t, err := ReadTime(text)
	if err != nil {
		return t, fmt.Errorf("%q is not a time such as 2027-01-01T00:00:00Z or 2027-01-01", text)
	}
	return t, nil
}

// Ago says how far a time lies from now, in one unit.
func Ago(t, now time.Time) string {
	sec := float64(now.Unix()-t.Unix()) + float64(now.Nanosecond()-t.Nanosecond())/1e9
	text := roughDuration(math.Abs(sec))
	switch {
	case text == "":
		return "now"
	case sec > 0:
		return text + " ago"
	}
	return "in " + text
}

// roughDuration names a number of seconds in its largest unit.
func roughDuration(sec float64) string {
	for _, u := range []struct {
		name    string
		seconds float64
	}{{"year", 365.2425 * 86400}, {"day", 86400}, {"hour", 3600}, {"minute", 60}, {"second", 1}} {
		if n := sec / u.seconds; n >= 1 {
			if u.name == "year" {
				return fmt.Sprintf("%.1f years", n)
			}
			return Plural(int64(n), u.name)
		}
	}
	return ""
}

// Approximately writes a number of seconds to the second, and long times in
// their largest unit.
func Approximately(sec float64) string {
	if sec < 100*3600 {
		return time.Duration(math.Round(sec) * float64(time.Second)).String()
	}
	return roughDuration(sec)
}

func Plural[N int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(n) + " " + noun + "s"
}

// Thousands writes a number with commas.
func Thousands[N int64 | uint64 | int](n N) string {
	s := fmt.Sprint(n)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// PerSecond writes a rate.
func PerSecond(r float64) string {
	if r >= 1e15 || r < 10 && r != math.Trunc(r) {
		return strconv.FormatFloat(r, 'g', 3, 64) + " IDs/s"
	}
	return Thousands(int64(r)) + " IDs/s"
}
