package report

import (
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
)

// amountTicks writes large numbers short.
type amountTicks struct{}

// Ticks implements [plot.Ticker].
func (amountTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = amount(t.Value)
		}
	}
	return ticks
}

// amount writes a number with at most four digits: 4096, 12.5k, 3M.
func amount(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if math.Abs(v) >= unit.size {
			size := unit.size
			if unit.name == "k" {
				size = 1e3
			}
			return strconv.FormatFloat(v/size, 'g', 4, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// wholeTicks are for numbers of things that cannot be divided.
type wholeTicks struct{}

// Ticks implements [plot.Ticker].
func (wholeTicks) Ticks(low, high float64) []plot.Tick {
	step := 1.0
	for i := 0; (high-low)/step > 6; i++ {
		step *= []float64{2, 2.5, 2}[i%3] // 1, 2, 5, 10, 20, …
	}
	var ticks []plot.Tick
	for v := math.Ceil(low/step) * step; v <= high; v += step {
		label := strconv.FormatFloat(v, 'f', -1, 64)
		if v == 0 {
			label = "0" // rounding up may have left a zero with a sign
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: label})
	}
	return ticks
}

// timeTicks are for times in seconds since 1970.
type timeTicks struct{}

// Ticks implements [plot.Ticker].
func (timeTicks) Ticks(low, high float64) []plot.Tick {
	const day = 24 * 3600
	step := 0.0
	for _, s := range []float64{
		1e-6, 1e-5, 1e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600,
		2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, day, 2 * day, 5 * day, 10 * day, 30 * day, 90 * day, 180 * day,
	} {
		if step = s; (high-low)/s <= 6 {
			break
		}
	}
	for (high-low)/step > 6 {
		step *= 2
	}
	format := "15:04:05"
	switch {
	case step >= day:
		format = time.DateOnly
	case step >= 60:
		format = "15:04"
		if high-low > day {
			format = "01-02 15:04"
		}
	case step < 1e-3:
		format = "05.000000"
	case step < 1:
		format = "15:04:05.000"
	}
	var ticks []plot.Tick
	for i := math.Ceil(low / step); i*step <= high && len(ticks) < 10; i++ {
		sec, frac := math.Modf(i * step)
		t := time.Unix(int64(sec), int64(math.Round(frac*1e6))*1e3).UTC()
		ticks = append(ticks, plot.Tick{Value: i * step, Label: t.Format(format)})
	}
	return ticks
}
