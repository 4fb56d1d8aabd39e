package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Sizes of a picture.
const (
	width, height = 560.0, 260.0
	above, below  = 36.0, 46.0 // room for the words above and below the plot
	right         = width - 10
	top           = above
	bottom        = height - below
	digit         = 7.7 // width of a digit in a wide font of 12
	steps         = 16  // shades of a heat map
	swatch        = 6   // width of each in the legend
)

// picture is a chart with everything in its place.
type picture struct {
	Title, About        string
	Width, Height       number
	Left, Middle, Right number
	Bottom              number
	XLabel, YLabel      string
	XTicks, YTicks      []mark
	Bars                string  // a path
	Shades              []shade // for a heat map
	Even                number  // 0 for none
	Key                 number  // where the legend of the shades begins
	Most                string  // what the strongest shade stands for
}

// mark is a tick with the place of its label.
type mark struct {
	At, Text number
	Label    string
}

// shade is all cells of a heat map that look the same.
type shade struct {
	Opacity number
	Key     number // place in the legend
	Cells   string
}

// number is written with as many digits as can be seen.
type number float64

func (n number) String() string {
	return strconv.FormatFloat(math.Round(float64(n)*100)/100, 'f', -1, 64)
}

func draw(c chart) picture {
	left := 30.0
	for _, t := range c.y.ticks {
		left = max(left, 12+digit*float64(len(t.label)))
	}
	x := func(v float64) number { return number(left + (v-c.x.low)/(c.x.high-c.x.low)*(right-left)) }
	y := func(v float64) number { return number(bottom - (v-c.y.low)/(c.y.high-c.y.low)*(bottom-top)) }
	p := picture{
		Title: c.title, About: c.about, Width: width, Height: height,
		Left: number(left), Middle: number((left + right) / 2), Right: right, Bottom: bottom,
		XLabel: c.x.label, YLabel: c.y.label, Bars: outline(c.bars, x, y),
	}
	for _, t := range c.x.ticks {
		half := number(digit / 2 * float64(len(t.label)))
		p.XTicks = append(p.XTicks, mark{x(t.at), max(half, min(width-half, x(t.at))), t.label})
	}
	for _, t := range c.y.ticks {
		p.YTicks = append(p.YTicks, mark{y(t.at), y(t.at) + 4, t.label})
	}
	if c.even > 0 {
		p.Even = y(c.even)
	}
	if c.heat != nil {
		p.Shades, p.Most = shades(c.heat, x, y), amount(float64(most(c.heat)))
		p.Key = number(right - digit*float64(len(p.Most)) - 8 - steps*swatch)
	}
	return p
}

// outline draws all bars as one shape, because seams show between shapes that touch.
func outline(bars []bar, x, y func(float64) number) string {
	var b strings.Builder
	for i, r := range bars {
		if i == 0 || r.from != bars[i-1].to {
			fmt.Fprintf(&b, "M%v %vV", x(r.from), y(0))
		} else {
			b.WriteString("V")
		}
		h := y(r.height)
		if r.height > 0 {
			h = min(h, y(0)-1) // what is there at all can be seen
		}
		fmt.Fprintf(&b, "%vH%v", h, x(r.to))
		if i+1 == len(bars) || bars[i+1].from != r.to {
			fmt.Fprintf(&b, "V%vZ", y(0))
		}
	}
	return b.String()
}

// shades groups the cells of a heat map by the strength of their colour.
// Equal cells side by side become one.
func shades(rows [][]int64, x, y func(float64) number) []shade {
	highest := most(rows)
	level := func(n int64) int { return int(float64(n) / float64(highest) * (steps - 1)) }
	var paths [steps]strings.Builder
	for r, row := range rows {
		for i := 0; i < len(row); {
			end := i + 1
			for end < len(row) && level(row[end]) == level(row[i]) && (row[end] > 0) == (row[i] > 0) {
				end++
			}
			if row[i] > 0 {
				left, low := x(float64(i)), y(float64(r))
				right, high := x(float64(end)), y(float64(r+1))
				fmt.Fprintf(&paths[level(row[i])], "M%v %vH%vV%vH%vZ", left, low, right, high, left)
			}
			i = end
		}
	}
	var list []shade
	for i := range paths {
		list = append(list, shade{
			Opacity: number(0.2 + 0.8*float64(i)/(steps-1)),
			Key:     number(swatch * i),
			Cells:   paths[i].String(),
		})
	}
	return list
}
