package report

import (
	"math"
	"strconv"

	"github.com/snowfence/snowfence/cmd/internal/show"
)

// axis goes from low to high, in units that its maker chooses.
type axis struct {
	low, high float64
	ticks     []tick
	label     string
}

type tick struct {
	at    float64
	label string
}

// move gives another number to each place.
func (a axis) move(by float64) axis {
	a.low, a.high = a.low+by, a.high+by
	for i := range a.ticks {
		a.ticks[i].at += by
	}
	return a
}

// wholeAxis shows count numbers from first up; a unit is width numbers.
// A tick stands in the middle of its number.
func wholeAxis(first, count, width uint64, label string) axis {
	a := axis{high: float64(count) / float64(width), label: label}
	step := uint64(1)
	for i := 0; (count-1)/step > 6; i++ {
		step = rounder(step, i)
	}
	for v := (first + step - 1) / step * step; v-first < count; v += step {
		a.ticks = append(a.ticks, tick{(float64(v-first) + 0.5) / float64(width), whole(v)})
	}
	return a
}

// rounder goes from 1 to 2, 5, 10, 20, …
func rounder[N int | uint64](step N, i int) N {
	if i%3 == 1 {
		return step / 2 * 5
	}
	return step * 2
}

// heightAxis goes from 0 to the first tick that no bar rises above.
// Counts of things that are not divisible get whole ticks.
func heightAxis(highest float64, divisible bool, label string) axis {
	if !(highest > 0) {
		highest = 1
	}
	size := math.Pow(10, math.Floor(math.Log10(highest)))
	step := 0.0
	for _, part := range []float64{0.2, 0.25, 0.5, 1, 2} {
		step = part * size
		if highest/step <= 5+1e-9 && (divisible || step == math.Floor(step)) {
			break
		}
	}
	a := axis{label: label}
	for i := 0; i == 0 || a.high < highest*(1-1e-9); i++ {
		a.high = float64(i) * step
		a.ticks = append(a.ticks, tick{a.high, amount(a.high)})
	}
	return a
}

func percentAxis(label string) axis {
	a := axis{high: 100, label: label}
	for v := 0.0; v <= 100; v += 25 {
		a.ticks = append(a.ticks, tick{v, amount(v)})
	}
	return a
}

// amount writes a number short: 4,096, 12.5k, 3M.
func amount(v float64) string {
	for _, unit := range []struct {
		least, size float64
		name        string
	}{{1e18, 1e18, "E"}, {1e15, 1e15, "P"}, {1e12, 1e12, "T"}, {1e9, 1e9, "G"}, {1e6, 1e6, "M"}, {1e4, 1e3, "k"}} {
		if v >= unit.least*0.99999 {
			return strconv.FormatFloat(v/unit.size, 'g', 4, 64) + unit.name
		}
	}
	if v >= 1000 {
		return whole(uint64(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// whole writes a number with all its digits, unless it is a round one of many: 131,072, 2M.
func whole(n uint64) string {
	if n >= 1e6 && n%uint64(math.Pow10(len(strconv.FormatUint(n, 10))-3)) == 0 {
		return amount(float64(n))
	}
	return show.Thousands(n)
}

// brief is for sentences, which have room for nine digits.
func brief(n int64) string {
	if n < 1e9 {
		return whole(uint64(n))
	}
	return amount(float64(n))
}
