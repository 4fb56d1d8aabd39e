package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/internal/audit"
)

// Sizes of a chart.
const (
	width, height = 560.0, 260.0
	left, right   = 90.0, width - 10
	top           = 36.0
	bottom        = height - 46
)

// writeChart writes a chart as SVG: how many IDs have each value of some
// bits. A dashed line shows an even share.
func (m *markup) writeChart(e audit.Evenness) {
	sum := int64(0)
	for _, n := range e.Counts {
		sum += n
	}
	ticks := heights(float64(slices.Max(e.Counts)))
	x := func(value int) float64 { return left + float64(value)*(right-left)/float64(len(e.Counts)) }
	y := func(ids float64) float64 { return bottom - ids/ticks[len(ticks)-1]*(bottom-top) }
	m.putValues(`<svg class="chart" viewBox="0 0 %[1]v %[2]v" width="%[1]v" height="%[2]v" role="img" `+
		`aria-label="IDs by the value of their %[3]s bits">
<text x="2" y="16">IDs</text>
`, width, height, e.Bits)
	for _, t := range ticks {
		m.putValues(`<path class="grid" d="M%[1]v %[2]sH%[3]v"/><text class="end" x="%[1]v" dx="-8" dy="4" y="%[2]s">%[4]s</text>`+
			"\n", left, number(y(t)), right, amount(t))
	}
	var bars strings.Builder
	fmt.Fprintf(&bars, "M%v %v", left, bottom)
	for value, n := range e.Counts {
		fmt.Fprintf(&bars, "V%sH%s", number(y(float64(n))), number(x(value+1)))
	}
	m.putValues("<path class=\"data\" d=\"%sV%vZ\"/>\n", bars.String(), bottom)
	m.putValues(`<path class="even" d="M%[1]v %[2]sH%[3]v"/>
<path class="even" d="M%[3]v 12h-28"/><text class="end" x="%[3]v" dx="-34" y="16">even</text>
<path class="base" d="M%[1]v %[4]vH%[3]v"/>
`, left, number(y(float64(sum)/float64(len(e.Counts)))), right, bottom)
	for value := 0; value < len(e.Counts); value += 50 {
		m.putValues(`<text class="middle" x="%s" y="%v" dy="19">%d</text>`+"\n", number(x(value)), bottom, value)
	}
	m.putValues("<text class=\"middle\" x=\"%v\" y=\"%v\" dy=\"39\">value</text>\n</svg>", (left+right)/2, bottom)
}

// heights are round numbers from 0 up to the first that is no lower than
// the highest bar.
func heights(highest float64) []float64 {
	step := math.Pow(10, math.Ceil(math.Log10(highest/5)))
	for _, part := range []float64{5, 2} {
		if s := step / part; highest/s <= 5 && s == math.Floor(s) {
			step = s
			break
		}
	}
	step = max(step, 1)
	list := []float64{0}
	for list[len(list)-1] < highest {
		list = append(list, float64(len(list))*step)
	}
	return list
}

// number writes as many digits as can be seen.
func number(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// amount writes a number short: 4096, 12.5k, 3000k, 20M.
func amount(v float64) string {
	unit := 0
	for ; v >= 1e4; unit++ {
		v /= 1000
	}
	return strconv.FormatFloat(v, 'g', -1, 64) + []string{"", "k", "M", "G", "T", "P"}[unit]
}
