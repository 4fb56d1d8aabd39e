package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// heatMap draws counts as rectangles. The library's own puts the centres of cells on the axis, so that a map of a single column or
// row has no width.
type heatMap struct {
	grid   *heatGrid
	most   float64
	colors []color.Color
}

// Plot implements [plot.Plotter].
func (h *heatMap) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	columns, rows := h.grid.Dims()
	halfX, halfY := h.grid.width/2, float64(h.grid.heat.NodeWidth)/2
	for row := range rows {
		for column := range columns {
			z := h.grid.Z(column, row)
			if math.IsNaN(z) {
				continue
			}
			left, right := x(h.grid.X(column)-halfX), x(h.grid.X(column)+halfX)
			low, high := y(h.grid.Y(row)-halfY), y(h.grid.Y(row)+halfY)
			var cell vg.Path
			cell.Move(vg.Point{X: left, Y: low})
			cell.Line(vg.Point{X: right, Y: low})
			cell.Line(vg.Point{X: right, Y: high})
			cell.Line(vg.Point{X: left, Y: high})
			cell.Close()
			c.SetColor(h.colors[int(z/h.most*float64(len(h.colors)-1))])
			c.Fill(cell)
		}
	}
}

// DataRange implements [plot.DataRanger].
func (h *heatMap) DataRange() (xmin, xmax, ymin, ymax float64) {
	columns, rows := h.grid.Dims()
	halfX, halfY := h.grid.width/2, float64(h.grid.heat.NodeWidth)/2
	return h.grid.X(0) - halfX, h.grid.X(columns-1) + halfX, h.grid.Y(0) - halfY, h.grid.Y(rows-1) + halfY
}
