package report

import (
	"io"

	"github.com/snowfence/snowfence/internal/audit"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Size of a picture, in points.
const (
	chartWidth  = vg.Length(520)
	chartHeight = vg.Length(250)
	margin      = vg.Length(14)
)

// PNG writes all pictures as one, on white.
func PNG(w io.Writer, r *audit.Result) error {
	list := charts(r)
	columns := min(2, max(1, len(list)))
	rows := max(1, (len(list)+columns-1)/columns)
	width := chartWidth*vg.Length(columns) + margin*vg.Length(columns+1)
	height := chartHeight*vg.Length(rows) + margin*vg.Length(rows+1)
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144))
	for i, c := range list {
		left := margin + (chartWidth+margin)*vg.Length(i%columns)
		low := height - (chartHeight+margin)*vg.Length(i/columns+1)
		c.plot.Title.Text = c.title
		c.plot.Draw(draw.Canvas{Canvas: img, Rectangle: vg.Rectangle{
			Min: vg.Point{X: left, Y: low},
			Max: vg.Point{X: left + chartWidth, Y: low + chartHeight},
		}})
	}
	_, err := vgimg.PngCanvas{Canvas: img}.WriteTo(w)
	return err
}
