package main

import (
	"bufio"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/internal/audit"
)

// writeText writes the findings for people; with a histogram where a picture can be looked at.
func (r *auditReport) writeText(out *bufio.Writer, picture bool) {
	// A failure to write shows when out is flushed.
	_, _ = out.Write(show.AppendRows(nil, r.rows()))
	if list := r.duplicates(); len(list) > 0 {
		fmt.Fprintln(out, "\nduplicates")
		for _, row := range list {
			fmt.Fprintln(out, "  "+strings.Join(row, "  "))
		}
		if more := r.result.Duplicates.IDs - int64(len(list)); more > 0 {
			fmt.Fprintf(out, "  and %s more (--limit)\n", show.Thousands(more))
		}
	}
	if picture {
		for _, line := range textHistogram(r.result) {
			fmt.Fprintln(out, line)
		}
	}
}

// textHistogram draws IDs over time if the layout is known, and the values of their
// highest bits if not.
func textHistogram(a *audit.Result) []string {
	const width, height = 64, 6
	if a.Count == 0 {
		return nil
	}
	if f := a.Fields; f != nil && len(f.Series.Counts) > 1 {
		bars, each := mergeBars(f.Series.Counts, width)
		title := fmt.Sprintf("IDs over time, %v a column, from %s on", time.Duration(each)*f.Series.Width,
			f.Series.Start.Format(time.RFC3339))
		return append([]string{"", title}, drawBars(bars, height)...)
	}
	bars, _ := mergeBars(a.Uniformity.Histogram, width)
	shown := bits.Len(uint(len(a.Uniformity.Histogram))) - 1
	title := fmt.Sprintf("highest %d of %d bits, from all 0 to all 1", shown, a.Uniformity.Width)
	return append([]string{"", title}, drawBars(bars, height)...)
}

// mergeBars adds up neighbours until there are at most so many, and says how many became one.
func mergeBars(counts []int64, width int) (bars []int64, each int) {
	each = (len(counts) + width - 1) / width
	for i := 0; i < len(counts); i += each {
		sum := int64(0)
		for _, n := range counts[i:min(i+each, len(counts))] {
			sum += n
		}
		bars = append(bars, sum)
	}
	return bars, each
}

// drawBars draws bars of so many lines, in eighths of a line. What is there at all can be seen.
func drawBars(bars []int64, height int) []string {
	eighths := []rune(" ▁▂▃▄▅▆▇█")
	top := int64(1)
	for _, n := range bars {
		top = max(top, n)
	}
	var lines []string
	for row := height - 1; row >= 0; row-- {
		var line strings.Builder
		for _, n := range bars {
			level := int(float64(n) / float64(top) * float64(8*height))
			if n > 0 {
				level = max(level, 1)
			}
			line.WriteRune(eighths[min(max(level-8*row, 0), 8)])
		}
		label := ""
		if row == height-1 {
			label = " " + show.Thousands(top)
		}
		lines = append(lines, strings.TrimRight(line.String()+label, " "))
	}
	return lines
}
