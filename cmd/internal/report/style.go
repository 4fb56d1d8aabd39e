package report

import (
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// The colours of pictures. In a page they are replaced by variables that follow the reader's choice of light or dark; black
// would not be replaced, as it is left out of the drawing.
func ink() color.NRGBA    { return color.NRGBA{0x24, 0x29, 0x30, 0xff} }
func rule() color.NRGBA   { return color.NRGBA{0xd5, 0xda, 0xe0, 0xff} }
func accent() color.NRGBA { return color.NRGBA{0x1f, 0x6f, 0xb2, 0xff} }
func marker() color.NRGBA { return color.NRGBA{0xb3, 0x52, 0x1a, 0xff} }

const lineWidth = vg.Length(0.75)

// shades are one colour, more or less of it: on a white page and on a dark one, what stands out is what there is much of.
func shades() []color.Color {
	const n = 16
	var list []color.Color
	c := accent()
	for i := range n {
		list = append(list, color.NRGBA{c.R, c.G, c.B, uint8(50 + 205*i/(n-1))})
	}
	return list
}

// newPlot is a plot in the style of the reports.
func newPlot(x, y string, plotters ...plot.Plotter) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle = textStyle(a.Label.TextStyle, 11)
		a.Tick.Label = textStyle(a.Tick.Label, 10)
		a.LineStyle.Color, a.Tick.LineStyle.Color = ink(), ink()
		a.LineStyle.Width, a.Tick.LineStyle.Width = lineWidth, lineWidth
		a.Tick.Marker = amountTicks{}
		a.Padding = 0
	}
	p.Title.TextStyle = textStyle(p.Title.TextStyle, 13)
	p.Title.Padding = 6
	lines := plotter.NewGrid()
	lines.Vertical.Width = 0
	lines.Horizontal.Color, lines.Horizontal.Width = rule(), lineWidth
	p.Add(lines)
	for _, q := range plotters {
		if l, ok := q.(*plotter.Line); ok {
			l.LineStyle.Color, l.LineStyle.Width = marker(), 1.2
			l.LineStyle.Dashes = []vg.Length{5, 3}
		}
		p.Add(q)
	}
	p.Y.Min = min(p.Y.Min, 0)
	if p.Y.Max <= p.Y.Min {
		p.Y.Max = p.Y.Min + 1
	}
	return p
}

func textStyle(s text.Style, size font.Length) text.Style {
	s.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	s.Color = ink()
	return s
}

func timeAxis(p *plot.Plot, start time.Time) {
	p.X.Tick.Marker = timeTicks{}
	p.X.Label.Text = "UTC, from " + start.UTC().Format(time.DateTime) + " on"
}
