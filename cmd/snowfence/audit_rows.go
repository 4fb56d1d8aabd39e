package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/internal/audit"
)

// rows are the findings in a table of two columns.
func (r *auditReport) rows() show.Rows {
	a := r.result
	rows := show.Rows{{"IDs", show.Thousands(a.Count)}}
	if r.bad > 0 {
		rows.Add("bad lines", "%s", show.Thousands(r.bad))
	}
	if a.Count == 0 {
		return rows
	}
	if d := a.Duplicates; d.IDs == 0 {
		rows.Add("duplicates", "none")
	} else {
		rows.Add("duplicates", "%s came more than once, %s too many", show.Plural(d.IDs, "ID"), show.Thousands(d.Extra))
	}
	if o := a.Order; o.Violations == 0 {
		rows.Add("order", "never falls")
	} else {
		text := show.Plural(o.Violations, "step") + " back"
		if len(o.List) > 0 {
			text += ", the first at " + o.List[0].Place
		}
		rows.Add("order", "%s", text)
	}
	rows.Add("from, to", "%d, %d", int64(a.Lowest), int64(a.Highest))
	if a.Fields != nil {
		rows = append(rows, fieldRows(a.Fields)...)
	}
	if gap := gapText(a); gap != "" {
		rows.Add("gaps", "%s", gap)
	}
	if a.Timed() {
		return rows
	}
	return append(rows, evenRows(a.Uniformity)...)
}

func fieldRows(f *audit.Fields) (rows show.Rows) {
	if f.Foreign > 0 {
		rows.Add("foreign", "%s not of the layout", show.Plural(f.Foreign, "ID"))
	}
	if len(f.Series.Counts) == 0 {
		return rows
	}
	rows.Add("time", "%s to %s", f.First.Format(time.RFC3339Nano), f.Last.Format(time.RFC3339Nano))
	total := int64(0)
	for _, n := range f.Series.Counts {
		total += n
	}
	if sec := f.Last.Sub(f.First).Seconds(); sec > 1 {
		rows.Add("rate", "%s on average", show.PerSecond(math.Round(float64(total)/sec)))
	}
	if p := f.Peak; p != nil {
		rows.Add("peak", "%s IDs in %v from %s on", show.Thousands(p.Count), p.Width, p.Start.Format(time.RFC3339Nano))
	}
	if f.Layout.Bits(snowfence.FieldNode) > 0 {
		rows.Add("nodes", "%s of %s", show.Thousands(f.Nodes.Seen), show.Thousands(f.Nodes.Of)+busiest(f.Nodes, total))
	}
	if f.Layout.Bits(snowfence.FieldSequence) > 0 {
		text := fmt.Sprintf("highest %s of %s", show.Thousands(f.Sequence.Highest), show.Thousands(f.Sequence.Last))
		if f.Sequence.Full > 0 {
			text += fmt.Sprintf("; %s used up", show.Plural(f.Sequence.Full, "tick"))
		}
		rows.Add("sequence", "%s", text)
	}
	if n := f.Sequence.Reserved; n > 0 {
		rows.Add("reserved", "%s with a number below %d, as made by hand or after the clock stepped back",
			show.Plural(n, "ID"), f.Layout.First)
	}
	return rows
}

// busiest names the nodes with the most IDs.
func busiest(n audit.Nodes, total int64) string {
	var list []string
	for i, node := range n.List {
		if i == 3 {
			list = append(list, "…")
			break
		}
		list = append(list, fmt.Sprintf("%d (%.3g%%)", node.Node, 100*float64(node.Count)/float64(total)))
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, ", ")
}

// gapText says what is missing: numbers of a sequence, or time.
func gapText(a *audit.Result) string {
	g := a.Gaps
	if a.Fields == nil {
		if g.Count == 0 {
			return "none: every number is there"
		}
		return fmt.Sprintf("numbers missing: %s, in %s, the most (%s) after %d",
			show.Thousands(g.Missing), show.Plural(g.Count, "place"), show.Thousands(g.Largest[0].Missing),
			int64(g.Largest[0].After))
	}
	if a.Fields.Peak == nil || len(g.Largest) == 0 || g.Largest[0].Time == 0 {
		return ""
	}
	return fmt.Sprintf("longest time without an ID: %v, after %d", g.Largest[0].Time, int64(g.Largest[0].After))
}

// evenAlpha is below which probability a test is failed: with a dozen tests, random IDs
// fail about once in a hundred thousand audits.
const evenAlpha = 1e-6

func evenRows(u audit.Uniformity) show.Rows {
	if !u.Tested() {
		return show.Rows{{"evenness", "too few IDs to tell"}}
	}
	text := fmt.Sprintf("the %d bits look random", u.Width)
	if !u.Even(evenAlpha) {
		text = fmt.Sprintf("the %d bits do not look random, which is right for IDs that hold a time or count", u.Width)
	}
	rows := show.Rows{{"evenness", text}}
	for _, c := range u.ChiSquare {
		if c.Weak() {
			continue
		}
		rows.Add("", "%s bits, %s buckets: chi-square %.6g, p %.3g", c.Bits, show.Thousands(c.Buckets), c.Value, c.P)
	}
	if u.Serial != nil {
		rows.Add("", "serial correlation %.3g, p %.3g", u.Serial.Correlation, u.Serial.P)
	}
	if u.Bits != nil {
		rows.Add("", "bit balance: farthest is bit %d, set in %.6g%%, p %.3g",
			u.Bits.Worst, 100*u.Bits.Shares[u.Bits.Worst], u.Bits.P)
	}
	return rows
}
