package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bar goes from 0 up.
type bar struct{ from, to, height float64 }

// barChart draws bars from left to right as one shape: apart, bars that touch would show the page between them.
type barChart []bar

func bars(n int, at func(i int) (from, to, height float64)) barChart {
	var list barChart
	for i := range n {
		from, to, height := at(i)
		list = append(list, bar{from, to, height})
	}
	return list
}

// Plot implements [plot.Plotter].
func (b barChart) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	ground := y(0)
	var shape vg.Path
	for i, r := range b {
		if i == 0 || r.from != b[i-1].to {
			shape.Move(vg.Point{X: x(r.from), Y: ground})
		}
		shape.Line(vg.Point{X: x(r.from), Y: y(r.height)})
		shape.Line(vg.Point{X: x(r.to), Y: y(r.height)})
		if i+1 == len(b) || b[i+1].from != r.to {
			shape.Line(vg.Point{X: x(r.to), Y: ground})
			shape.Close()
		}
	}
	c.SetColor(accent())
	c.Fill(shape)
}

// DataRange implements [plot.DataRanger].
func (b barChart) DataRange() (xmin, xmax, ymin, ymax float64) {
	for _, r := range b {
		ymax = max(ymax, r.height)
	}
	return b[0].from, b[len(b)-1].to, 0, ymax
}
