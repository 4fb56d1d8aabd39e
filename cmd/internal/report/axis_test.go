package report

import (
	"math"
	"strings"
	"testing"
	"time"
)

func labels(ticks []tick) string {
	var list []string
	for _, t := range ticks {
		list = append(list, t.label)
	}
	return strings.Join(list, " ")
}

func TestWholeAxis(t *testing.T) {
	for _, c := range []struct {
		first, count, width uint64
		want                string
		at                  float64
	}{
		{0, 8, 1, "0 2 4 6", 0.5},
		{0, 64, 1, "0 10 20 30 40 50 60", 0.5},
		{3, 1, 1, "3", 0.5},
		{115585, 5, 1, "115,585 115,586 115,587 115,588 115,589", 0.5},
		{0, 1024, 16, "0 200 400 600 800 1,000", 0.03125},
		{1<<62 - 2, 2, 1, "4,611,686,018,427,387,902 4,611,686,018,427,387,903", 0.5},
		{0, 1 << 63, 1 << 57, "0 2E 4E 6E 8E", 0},
	} {
		a := wholeAxis(c.first, c.count, c.width, "")
		if got := labels(a.ticks); got != c.want || math.Abs(a.ticks[0].at-c.at) > 1e-6 {
			t.Errorf("%d numbers from %d: %s at %v; want %s", c.count, c.first, got, a.ticks[0].at, c.want)
		}
	}
}

func TestHeightAxis(t *testing.T) {
	for _, c := range []struct {
		highest   float64
		divisible bool
		want      string
	}{
		{0, false, "0 1"},
		{1, false, "0 1"},
		{1, true, "0 0.2 0.4 0.6 0.8 1"},
		{4, false, "0 1 2 3 4"},
		{12, false, "0 5 10 15"},
		{12, true, "0 2.5 5 7.5 10 12.5"},
		{131072, true, "0 50k 100k 150k"},
		{math.MaxInt64, false, "0 2E 4E 6E 8E 10E"},
		{3e-9, true, "0 1e-09 2e-09 3e-09"},
	} {
		if got := labels(heightAxis(c.highest, c.divisible, "").ticks); got != c.want {
			t.Errorf("%v: %s; want %s", c.highest, got, c.want)
		}
	}
}

func TestTimeTicks(t *testing.T) {
	start := time.Date(2026, 9, 28, 11, 59, 59, 500e6, time.UTC)
	for _, c := range []struct {
		seconds float64
		want    string
	}{
		{3e-9, "59.500000000 59.500000001 59.500000002 59.500000003"},
		{0.003, "11:59:59.500 11:59:59.501 11:59:59.502 11:59:59.503"},
		{4, "12:00:00 12:00:01 12:00:02 12:00:03"},
		{3600, "12:00 12:15 12:30 12:45"},
		{2 * 86400, "09-28 12:00 09-29 00:00 09-29 12:00 09-30 00:00"},
		{30 * 86400, "2026-10-05 2026-10-12 2026-10-19 2026-10-26"},
		{300 * 86400, "2026-11 2027-01 2027-03 2027-05 2027-07"},
		{50 * 366 * 86400, "2030 2040 2050 2060 2070"},
		{1e6 * 366 * 86400, "200000 400000 600000 800000 1000000"},
	} {
		var list []string
		for _, tick := range timeTicks(start, c.seconds) {
			list = append(list, tick.label)
		}
		if got := strings.Join(list, " "); got != c.want {
			t.Errorf("%v seconds: %s; want %s", c.seconds, got, c.want)
		}
	}
	for s := 1e-9; s < 1e13; s *= 1.07 {
		if n := len(timeTicks(start, s)); n > 6 || n < 2 && s > 4e-9 {
			t.Errorf("%v seconds: %d ticks", s, n)
		}
	}
}

func TestSpan(t *testing.T) {
	for seconds, want := range map[float64]string{
		1e-9: "1 ns", 2e-6: "2 µs", 0.001: "1 ms", 1.024: "1.024 s", 60: "60 s", 120: "2 minutes", 7200: "2 hours",
		172800: "2 days",
		1e9:    "31.69 years", 9223372036.854775807: "292 years or more",
	} {
		if got := span(seconds); got != want {
			t.Errorf("%v: %s; want %s", seconds, got, want)
		}
	}
}
