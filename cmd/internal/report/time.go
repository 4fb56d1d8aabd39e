package report

import (
	"fmt"
	"math"
	"time"
)

const (
	day  = 24 * time.Hour
	year = 365.2425 * 24 * 3600 // seconds
)

// timeAxis has n units of width. Two empty ones surround a single one or a pair.
func timeAxis(start time.Time, width time.Duration, n int, first time.Time) axis {
	a := axis{high: float64(n), label: "UTC, from " + first.UTC().Format(time.DateTime)}
	if n < 3 {
		a.low, a.high = -1, float64(n)+1
		start = start.Add(-width)
		n += 2
	}
	length := width.Seconds() * float64(n)
	for _, t := range timeTicks(start.UTC(), length) {
		a.ticks = append(a.ticks, tick{a.low + secondsFrom(t.at, start)/width.Seconds(), t.label})
	}
	return a
}

type timeTick struct {
	at    time.Time
	label string
}

// secondsFrom is no Duration, because a Duration ends after 292 years.
func secondsFrom(t, start time.Time) float64 {
	return float64(t.Unix()-start.Unix()) + float64(t.Nanosecond()-start.Nanosecond())/1e9
}

// mostSteps is how many steps between times fit on an axis.
const mostSteps = 5

// timeTicks are two to six round times.
func timeTicks(start time.Time, seconds float64) []timeTick {
	switch {
	case seconds > mostSteps*year:
		return yearTicks(start, seconds)
	case seconds > 70*day.Seconds():
		return monthTicks(start, seconds)
	}
	step := timeStep(seconds)
	format := timeFormat(start, seconds, step)
	at := start.Truncate(step)
	return collect(start, seconds, format, func(i int) time.Time { return at.Add(time.Duration(i) * step) })
}

// collect takes the times between start and the end of the axis.
func collect(start time.Time, seconds float64, format string, at func(i int) time.Time) []timeTick {
	var list []timeTick
	for i := range 12 {
		t := at(i)
		if s := secondsFrom(t, start); s >= 0 && s <= seconds {
			list = append(list, timeTick{t, t.Format(format)})
		}
	}
	return list
}

// timeStep is a round length of time that fits mostSteps times.
func timeStep(seconds float64) time.Duration {
	for unit := time.Nanosecond; unit < time.Second; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if seconds/(n*unit).Seconds() <= mostSteps {
				return n * unit
			}
		}
	}
	for _, step := range []time.Duration{
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 4 * day, 7 * day,
	} {
		if seconds/step.Seconds() <= mostSteps {
			return step
		}
	}
	return 14 * day
}

func timeFormat(start time.Time, seconds float64, step time.Duration) string {
	switch {
	case step >= day:
		return time.DateOnly
	case step >= time.Minute && start.Add(time.Duration(seconds*1e9)).YearDay() != start.YearDay():
		return "01-02 15:04"
	case step >= time.Minute:
		return "15:04"
	case step >= time.Second:
		return time.TimeOnly
	case step >= time.Millisecond:
		return "15:04:05.000"
	case step >= time.Microsecond:
		return "05.000000"
	default:
		return "05.000000000"
	}
}

func monthTicks(start time.Time, seconds float64) []timeTick {
	months := 1
	for _, n := range []int{1, 2, 3, 6, 12} {
		if months = n; seconds/(float64(n)*30.4*day.Seconds()) <= mostSteps {
			break
		}
	}
	first := (int(start.Month()) - 1) / months * months
	return collect(start, seconds, "2006-01", func(i int) time.Time {
		return time.Date(start.Year(), time.Month(1+first+i*months), 1, 0, 0, 0, 0, time.UTC)
	})
}

func yearTicks(start time.Time, seconds float64) []timeTick {
	years := 1
	for i := 0; seconds/(float64(years)*year) > mostSteps+1; i++ {
		years = rounder(years, i)
	}
	first := start.Year() / years * years
	return collect(start, seconds, "2006", func(i int) time.Time {
		return time.Date(first+i*years, 1, 1, 0, 0, 0, 0, time.UTC)
	})
}

// span is a length of time for people.
func span(seconds float64) string {
	if seconds >= time.Duration(math.MaxInt64).Seconds() {
		return "292 years or more" // an audit's widths end there
	}
	for _, u := range []struct {
		size, below float64
		name        string
	}{
		{1e-9, 1e-6, "ns"},
		{1e-6, 1e-3, "µs"},
		{1e-3, 1, "ms"},
		{1, 120, "s"},
		{60, 7200, "minutes"},
		{3600, 48 * 3600, "hours"},
		{24 * 3600, 730 * 24 * 3600, "days"},
	} {
		if seconds < u.below*(1-1e-9) {
			return fmt.Sprintf("%.4g %s", seconds/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.4g years", seconds/year)
}
