// Package plan answers how much a layout holds and for how long, and which
// layouts meet a need.
package plan

import (
	"math"
	"math/bits"
	"strconv"
	"time"

	"github.com/snowfence/snowfence"
)

// Summary is the size of a layout and the dates when its IDs change their
// look.
type Summary struct {
	Spec             string     `json:"spec"`
	Bits             int        `json:"bits"`
	Fields           []Field    `json:"fields"`
	Epoch            time.Time  `json:"epoch"`
	Tick             string     `json:"tick"`
	EndOfLife        time.Time  `json:"end_of_life"` // at most the end of the year 9999
	EndYear          int64      `json:"end_year"`    // even beyond 9999
	YearsLeft        float64    `json:"years_left"`
	Nodes            uint64     `json:"nodes"`
	PerTick          int64      `json:"ids_per_tick"`
	PerNodePerSecond float64    `json:"ids_per_second_per_node"`
	PerSecond        float64    `json:"ids_per_second"`
	JSUnsafeFrom     *time.Time `json:"js_unsafe_from"` // null: never
	NegativeFrom     *time.Time `json:"negative_from"`  // null: never
	Digits           int        `json:"digits"`         // of IDs of today at most, sign not counted
	MostDigits       int        `json:"most_digits"`    // of the last IDs
}

// Field is one group of bits, from the highest down.
type Field struct {
	Name string `json:"name"`
	Bits int    `json:"bits"`
}

// yearNanoseconds is the mean year of the Gregorian calendar.
const yearNanoseconds = 365.2425 * 24 * float64(time.Hour)

// Of returns the summary of a valid layout.
func Of(l snowfence.Layout, now time.Time) Summary {
	c := l.Capacity()
	s := Summary{
		Spec:             l.String(),
		Bits:             l.Width(),
		Epoch:            l.TimeOf(0),
		Tick:             l.Tick.String(),
		EndOfLife:        l.EndOfLife(),
		EndYear:          EndYear(l),
		Nodes:            c.Nodes,
		PerTick:          c.PerTick,
		PerNodePerSecond: c.PerNodePerSecond,
		PerSecond:        c.PerSecond,
		Digits:           DigitsAt(l, now),
		MostDigits:       DigitsAt(l, l.EndOfLife()),
	}
	s.YearsLeft = YearsLeft(l, now)
	for _, f := range l.Fields {
		s.Fields = append(s.Fields, Field{f.Name, f.Bits})
	}
	if t, ok := l.JSSafeUntil(); ok {
		s.JSUnsafeFrom = &t
	}
	if t, ok := l.NegativeFrom(); ok {
		s.NegativeFrom = &t
	}
	return s
}

// lastWritten is the last year that times are written with.
const lastWritten = 9999

// EndYear returns the year in which a layout ends, even beyond 9999.
func EndYear(l snowfence.Layout) int64 {
	end := l.EndOfLife()
	if end.Year() < lastWritten {
		return int64(end.Year())
	}
	const most = 1 << 60
	fromYear0 := yearsBetween(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), l.TimeOf(0))
	return int64(min(fromYear0+lifeYears(l), most))
}

// YearsLeft returns how many years a layout lasts from now on, even beyond
// the year 9999.
func YearsLeft(l snowfence.Layout, now time.Time) float64 {
	if end := l.EndOfLife(); end.Year() < lastWritten {
		return yearsBetween(now, end)
	}
	return math.Round((yearsBetween(now, l.TimeOf(0))+lifeYears(l))*100) / 100
}

// lifeYears is how many years a layout lasts in all.
func lifeYears(l snowfence.Layout) float64 {
	return math.Exp2(float64(l.Bits(snowfence.FieldTime))) * float64(l.Tick) / yearNanoseconds
}

// yearsBetween is to.Sub(from) in years; a time.Duration ends after 292 of
// them.
func yearsBetween(from, to time.Time) float64 {
	sec := float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
	return math.Round(sec*float64(time.Second)/yearNanoseconds*100) / 100
}

// DigitsAt returns the most decimal digits an ID of the layout can have at
// t, sign not counted.
func DigitsAt(l snowfence.Layout, t time.Time) int {
	timeBits := l.Bits(snowfence.FieldTime)
	ticks := uint64(min(max(l.TickOf(t), 0), 1<<timeBits-1)) + 1
	below := l.Width() - timeBits
	if l.Cipher != snowfence.Plain || l.Fields[0].Name != snowfence.FieldTime {
		ticks = 1 << timeBits
	}
	if l.Cipher == snowfence.SPARX || bits.Len64(ticks)+below > 63 {
		return digits(math.MaxInt64)
	}
	return digits(ticks<<below - 1)
}

func digits(n uint64) int { return len(strconv.FormatUint(n, 10)) }

// bitsFor returns how many bits are needed to number n things.
func bitsFor(n uint64) int { return bits.Len64(max(n, 1) - 1) }
