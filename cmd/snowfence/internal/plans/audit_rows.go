package plans

import (
	"fmt"
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
	if gap := gapText(a); gap != "" {
		rows.Add("gaps", "%s", gap)
	}
	if a.Fields == nil || a.Fields.Layout.Cipher != snowfence.Plain {
		rows = append(rows, evenRows(a.Evenness)...)
	}
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

// gapText says what is missing: numbers of a sequence, or time.
func gapText(a *audit.Result) string {
	g := a.Gaps
	if a.Fields == nil {
		if g.Count == 0 {
			return "none: every number is there"
		}
		return fmt.Sprintf("numbers missing: %s, in %s, the most (%s) after %d",
			show.Thousands(g.Missing), show.Plural(g.Count, "place"), show.Thousands(g.Largest.Missing),
			int64(g.Largest.After))
	}
	if g.Largest == nil || g.Largest.Time == 0 {
		return ""
	}
	return fmt.Sprintf("longest time without an ID: %v, after %d", g.Largest.Time, int64(g.Largest.After))
}

// evenAlpha is below which probability a test is failed: random IDs fail about once in a hundred
// thousand audits.
const evenAlpha = 1e-6

func evenRows(list []audit.Evenness) show.Rows {
	if len(list) == 0 {
		return show.Rows{{"evenness", "too few IDs to tell"}}
	}
	rows := show.Rows{{"evenness", "the IDs look random"}}
	for _, e := range list {
		if !e.Even(evenAlpha) {
			rows[0][1] = "the IDs do not look random, which is right for IDs that hold a time or count"
		}
		rows.Add("", "%s eight bits: chi-square %.6g, p %.3g", e.Bits, e.Value, e.P)
	}
	return rows
}
