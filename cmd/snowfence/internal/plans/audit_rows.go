package plans

import (
	"fmt"
	"slices"
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
		rows = append(rows, fieldRows(a.Fields, a.Count-a.Fields.Foreign)...)
	}
	rows = append(rows, evenRows(a)...)
	if r.guess != nil {
		rows = append(rows, guessRows(r.guess)...)
	}
	return rows
}

// mostGuesses is how many layouts are listed for people.
const mostGuesses = 5

// guessRows are the likeliest layouts.
func guessRows(e *show.Evidence) (rows show.Rows) {
	list := e.Ranking()
	for _, t := range list[:min(len(list), mostGuesses)] {
		rows.Add("", "%s", t.Reason())
	}
	if len(list) == 0 {
		rows.Add("", "none known gives the IDs times between its epoch and now")
	}
	rows[0][0] = "layout"
	if e.Rounded() {
		rows.Add("rounded", "their %s", show.RoundedNote)
	}
	return rows
}

// fieldRows are the findings in the fields of so many IDs.
func fieldRows(f *audit.Fields, ids int64) (rows show.Rows) {
	if f.Foreign > 0 {
		rows.Add("foreign", "%s not of the layout", show.Plural(f.Foreign, "ID"))
	}
	if ids == 0 {
		return rows
	}
	rows.Add("time", "%s to %s", f.First.Format(time.RFC3339Nano), f.Last.Format(time.RFC3339Nano))
	if f.Layout.Bits(snowfence.FieldNode) > 0 {
		rows.Add("nodes", "%s of %s", show.Thousands(f.Nodes.Seen), show.Thousands(f.Nodes.Of)+busiest(f.Nodes, ids))
	}
	if f.Layout.Bits(snowfence.FieldSequence) > 0 {
		rows.Add("sequence", "highest %s of %s", show.Thousands(f.Sequence), show.Thousands(f.Layout.Last))
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

// evenAlpha is the probability below which a test fails: for random IDs
// about once in a hundred thousand audits.
const evenAlpha = 1e-6

// evenRows say whether IDs look random. Plain IDs have a time, so uneven
// ones get no row.
func evenRows(a *audit.Result) (rows show.Rows) {
	encrypted := a.Fields != nil && a.Fields.Layout.Cipher != snowfence.Plain
	even := !slices.ContainsFunc(a.Evenness, func(e audit.Evenness) bool { return !e.Even(evenAlpha) })
	switch {
	case len(a.Evenness) == 0 && encrypted:
		rows.Add("evenness", "too few IDs to tell")
	case len(a.Evenness) == 0, !even && !encrypted:
		return nil
	case even:
		rows.Add("evenness", "the IDs look random")
	default:
		rows.Add("evenness", "the IDs do not look random")
	}
	for _, e := range a.Evenness {
		rows.Add("", "%s eight bits: chi-square %.6g, p %.3g", e.Bits, e.Value, e.P)
		rows.Add("", "%s", picture(e.Counts))
	}
	return rows
}

// picture draws the counts of values as bars, the lowest values first.
func picture(counts []int64) (bars string) {
	var sums []int64
	for some := range slices.Chunk(counts, 4) {
		sums = append(sums, some[0]+some[1]+some[2]+some[3])
	}
	for _, sum := range sums {
		bars += string([]rune("▁▂▃▄▅▆▇█")[7*sum/slices.Max(sums)])
	}
	return bars
}
