package report

import (
	"fmt"
	"math"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/audit"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// chart is one picture with the words around it.
type chart struct {
	title string
	about string
	plot  *plot.Plot
}

// charts are the pictures that make sense for a result. Without a layout nothing is known of time, nodes and sequence.
func charts(r *audit.Result) []chart {
	if r.Count == 0 {
		return nil
	}
	var list []chart
	if f := r.Fields; f != nil && len(f.Series.Counts) > 0 {
		list = append(list, overTime(f))
		if f.Layout.Bits(snowfence.FieldNode) > 0 {
			list = append(list, nodes(f))
		}
		if f.Layout.Bits(snowfence.FieldSequence) > 0 {
			list = append(list, sequence(f))
		}
	}
	if len(r.Uniformity.Histogram) > 1 {
		list = append(list, highBits(r))
	}
	if r.Uniformity.Bits != nil {
		list = append(list, balance(r.Uniformity.Bits))
	}
	return list
}

// overTime is the rate of IDs.
func overTime(f *audit.Fields) chart {
	s := f.Series
	counts, width := squeeze(s.Counts, 512), s.Width
	width *= time.Duration((len(s.Counts) + len(counts) - 1) / len(counts))
	start := seconds(s.Start)
	h := bars(len(counts), func(i int) (float64, float64, float64) {
		return start + float64(i)*width.Seconds(), start + float64(i+1)*width.Seconds(), float64(counts[i]) / width.Seconds()
	})
	p := newPlot("", "IDs per second", h)
	timeAxis(p, f.First)
	return chart{"IDs over time", fmt.Sprintf("Each bar is the average of %v.", width), p}
}

// nodes is a heat map of nodes and time.
func nodes(f *audit.Fields) chart {
	h := f.Heat
	g := &heatGrid{heat: h, start: seconds(h.Start), width: h.Width.Seconds()}
	most := int64(0)
	for _, row := range h.Counts {
		for _, n := range row {
			most = max(most, n)
		}
	}
	p := newPlot("", "node", newHeatMap(g, most))
	timeAxis(p, f.First)
	low, high := float64(h.Node), float64(h.Node+h.NodeWidth*int64(len(h.Counts)))
	p.Y.Min, p.Y.Max = low-float64(h.NodeWidth)/2, high-float64(h.NodeWidth)/2
	p.Y.Tick.Marker = wholeTicks{}
	about := fmt.Sprintf("The stronger the colour, the more IDs: up to %s in %v", amount(float64(most)), h.Width)
	if h.NodeWidth > 1 {
		about += fmt.Sprintf(" and %d nodes", h.NodeWidth)
	}
	return chart{"Nodes over time", about + ".", p}
}

// sequence counts sequence numbers, up to the highest in use.
func sequence(f *audit.Fields) chart {
	s := f.Sequence
	used := s.Counts[:min(int64(len(s.Counts)), s.Highest/s.Width+1)]
	counts := squeeze(used, 512)
	width := float64(s.Width) * float64((len(used)+len(counts)-1)/len(counts))
	h := bars(len(counts), func(i int) (float64, float64, float64) {
		return float64(i) * width, float64(i+1) * width, float64(counts[i])
	})
	p := newPlot("sequence number", "IDs", h)
	p.X.Tick.Marker = wholeTicks{}
	return chart{"Sequence numbers", fmt.Sprintf("Used up to %s of %s.", amount(float64(s.Highest)), amount(float64(s.Last))), p}
}

// highBits is how often each value of the highest bits is there, with what would be even.
func highBits(r *audit.Result) chart {
	counts := r.Uniformity.Histogram
	even := float64(r.Count) / float64(len(counts))
	h := bars(len(counts), func(i int) (float64, float64, float64) {
		return float64(i) - 0.5, float64(i) + 0.5, float64(counts[i])
	})
	p := newPlot("value", "IDs", h, level(even, -0.5, float64(len(counts))-0.5))
	p.X.Tick.Marker = wholeTicks{}
	about := fmt.Sprintf("How often each value of the highest %d of %d bits is there. The line is even.", bitsOf(len(counts)), r.Uniformity.Width)
	return chart{"Highest bits", about, p}
}

// balance is how often each bit is set.
func balance(b *audit.BitBalance) chart {
	h := bars(len(b.Shares), func(i int) (float64, float64, float64) {
		return float64(i) - 0.4, float64(i) + 0.4, 100 * b.Shares[i]
	})
	p := newPlot("bit, from the lowest up", "% set", h, level(50, -0.5, float64(len(b.Shares))-0.5))
	p.X.Tick.Marker, p.Y.Max = wholeTicks{}, 100
	return chart{"Bit balance", "How often each bit is set. The line is even.", p}
}

// level is a dashed line.
func level(y, from, to float64) *plotter.Line {
	return &plotter.Line{
		XYs:       plotter.XYs{{X: from, Y: y}, {X: to, Y: y}},
		LineStyle: plotter.DefaultLineStyle,
	}
}

// heatGrid is a heat map's view of the counts.
type heatGrid struct {
	heat         audit.Heat
	start, width float64
}

func (g *heatGrid) Dims() (columns, rows int) { return len(g.heat.Counts[0]), len(g.heat.Counts) }
func (g *heatGrid) X(c int) float64           { return g.start + (float64(c)+0.5)*g.width }
func (g *heatGrid) Y(r int) float64           { return float64(g.heat.Node + int64(r)*g.heat.NodeWidth) }

// Z is NaN, which is not drawn, where there is nothing.
func (g *heatGrid) Z(c, r int) float64 {
	if n := g.heat.Counts[r][c]; n > 0 {
		return float64(n)
	}
	return math.NaN()
}

func newHeatMap(g *heatGrid, most int64) *heatMap {
	return &heatMap{grid: g, most: float64(most), colors: shades()}
}

func seconds(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

// squeeze adds up neighbours until there are at most so many.
func squeeze(counts []int64, most int) []int64 {
	each := (len(counts) + most - 1) / most
	var sums []int64
	for i, n := range counts {
		if i%each == 0 {
			sums = append(sums, 0)
		}
		sums[len(sums)-1] += n
	}
	return sums
}

func bitsOf(n int) int {
	bits := 0
	for ; n > 1; n /= 2 {
		bits++
	}
	return bits
}
