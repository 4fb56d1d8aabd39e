package report

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/audit"
)

// mostBars is how many bars can be told apart.
const mostBars = 512

// chart is what one picture shows. Bars and cells are placed in units of the axes.
type chart struct {
	title, about string
	x, y         axis
	bars         []bar
	heat         [][]int64 // rows from the bottom up, in place of bars
	even         float64   // height of the dashed line; 0 for none
}

// bar goes from 0 up.
type bar struct{ from, to, height float64 }

// charts returns the charts that make sense for a result.
// Without a layout, the times, nodes and sequence numbers are unknown.
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
	if r.Timed() {
		return list // their highest bits and their balance would alarm for nothing
	}
	if len(r.Uniformity.Histogram) > 1 {
		list = append(list, highBits(r))
	}
	if r.Uniformity.Bits != nil {
		list = append(list, balance(r.Uniformity.Bits))
	}
	return list
}

// overTime shows the rate of IDs.
func overTime(f *audit.Fields) chart {
	s := f.Series
	width := s.Width.Seconds()
	bars, each := averages(s.Counts, float64(len(s.Counts)), width)
	unit := "second"
	for _, u := range []struct {
		size float64
		name string
	}{{60, "minute"}, {3600, "hour"}, {24 * 3600, "day"}, {year, "year"}} {
		if highest(bars) >= 1 {
			break
		}
		bars, _ = averages(s.Counts, float64(len(s.Counts)), width/u.size)
		unit = u.name
	}
	return chart{
		title: "IDs over time",
		about: fmt.Sprintf("Each bar is the average of %s.", span(width*float64(each))),
		x:     timeAxis(s.Start, s.Width, len(s.Counts), f.First),
		y:     heightAxis(highest(bars), true, "IDs per "+unit),
		bars:  bars,
	}
}

// nodes shows a heat map of nodes and time.
func nodes(f *audit.Fields) chart {
	h := f.Heat
	about := fmt.Sprintf("The stronger the colour, the more IDs: up to %s in %s",
		amount(float64(most(h.Counts))), span(h.Width.Seconds()))
	if h.NodeWidth > 1 {
		about += fmt.Sprintf(" and %s nodes", brief(h.NodeWidth))
	}
	return chart{
		title: "Nodes over time",
		about: about + ".",
		x:     timeAxis(h.Start, h.Width, len(h.Counts[0]), f.First),
		y:     nodeAxis(h, f.Nodes.Of),
		heat:  h.Counts,
	}
}

// nodeAxis has room for five nodes or more, because a single one would fill the whole plot.
func nodeAxis(h audit.Heat, of uint64) axis {
	first, width := uint64(h.Node), uint64(h.NodeWidth)
	low, count := first, width*uint64(len(h.Counts))
	if count < 5 {
		low = min(first-min(first, (5-count)/2), of-min(of, 5))
		count = min(of, 5)
	}
	a := wholeAxis(low, count, width, "node")
	return a.move(-float64(first-low) / float64(width))
}

// sequence counts sequence numbers, up to the highest in use.
func sequence(f *audit.Fields) chart {
	s := f.Sequence
	used := s.Counts[:min(int64(len(s.Counts)), s.Highest/s.Width+1)]
	bars, each := averages(used, float64(s.Highest+1)/float64(s.Width), float64(s.Width))
	about := fmt.Sprintf("Used up to %s of %s.", brief(s.Highest), brief(s.Last))
	if each *= int(s.Width); each > 1 {
		about += fmt.Sprintf(" Each bar is the average of %s numbers.", brief(int64(each)))
	}
	return chart{
		title: "Sequence numbers",
		about: about,
		x:     wholeAxis(0, uint64(max(s.Highest, min(s.Last, 7))+1), uint64(s.Width), "sequence number"),
		y:     heightAxis(highest(bars), each > 1, "IDs per number"),
		bars:  bars,
	}
}

// highBits counts the values of the highest bits.
func highBits(r *audit.Result) chart {
	counts := r.Uniformity.Histogram
	bars, _ := averages(counts, float64(len(counts)), 1)
	about := fmt.Sprintf("How often the highest %d of %d bits have each value.",
		bits.Len(uint(len(counts)))-1, r.Uniformity.Width)
	if len(counts) == 2 {
		about = fmt.Sprintf("How often the highest of %d bits is 0 and 1.", r.Uniformity.Width)
	}
	return chart{
		title: "Highest bits",
		about: about,
		x:     wholeAxis(0, uint64(len(counts)), 1, "value"),
		y:     heightAxis(highest(bars), false, "IDs"),
		bars:  bars,
		even:  float64(r.Count) / float64(len(counts)),
	}
}

// balance shows how often each bit is set.
func balance(b *audit.BitBalance) chart {
	var list []bar
	for i, share := range b.Shares {
		list = append(list, bar{float64(i) + 0.1, float64(i) + 0.9, 100 * share})
	}
	return chart{
		title: "Bit balance",
		about: "How often each bit is set.",
		x:     wholeAxis(0, uint64(len(b.Shares)), 1, "bit, from the lowest up"),
		y:     percentAxis("% of IDs"),
		bars:  list,
		even:  50,
	}
}

// averages returns bars side by side, each the average of the same number of counts (each).
// A count covers so many things; the last bar ends where the axis ends.
func averages(counts []int64, end, things float64) (bars []bar, each int) {
	each = (len(counts) + mostBars - 1) / mostBars
	for i := 0; i < len(counts); i += each {
		from, to := float64(i), min(float64(i+each), end)
		sum := int64(0)
		for _, n := range counts[i:min(i+each, len(counts))] {
			sum += n
		}
		bars = append(bars, bar{from, to, float64(sum) / (to - from) / things})
	}
	return bars, each
}

func highest(bars []bar) float64 {
	top := 0.0
	for _, b := range bars {
		top = max(top, b.height)
	}
	return top
}

func most(rows [][]int64) int64 {
	top := int64(0)
	for _, row := range rows {
		top = max(top, slices.Max(row))
	}
	return top
}
