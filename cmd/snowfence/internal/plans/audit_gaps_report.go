package plans

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/internal/audit"
)

// gapsReport has the findings of audit --gaps.
type gapsReport struct {
	Numbers    int64       `json:"numbers"`
	First      string      `json:"first,omitempty"` // the lowest and the highest that came
	Last       string      `json:"last,omitempty"`
	Missing    missing     `json:"missing"`
	Duplicates repetitions `json:"duplicates"`
	StepsBack  int64       `json:"steps_back"` // numbers that are lower than the one before
	BadLines   int64       `json:"bad_lines"`
}

type missing struct {
	Numbers uint64         `json:"numbers,string"`
	Places  int64          `json:"places"`
	List    []missingRange `json:"list"` // the lowest, up to --limit
}

type missingRange struct {
	First   string `json:"first"`
	Last    string `json:"last"`
	Numbers uint64 `json:"numbers,string"`
}

type repetitions struct {
	Numbers int64        `json:"numbers"` // that came more than once
	Extra   int64        `json:"extra"`   // how many too many came
	List    []repetition `json:"list"`    // the lowest, up to --limit
}

type repetition struct {
	Number string   `json:"number"`
	Count  int64    `json:"count"`
	Places []string `json:"places"` // the first 16
}

func newGapsReport(a *audit.Result, n *numbering, bad int64) *gapsReport {
	r := &gapsReport{Numbers: a.Count, StepsBack: a.Order.Violations, BadLines: bad}
	if a.Count > 0 {
		r.First, r.Last = n.text(a.Lowest), n.text(a.Highest)
	}
	r.Missing = missing{a.Gaps.Missing, a.Gaps.Count, []missingRange{}}
	if a.Count == 0 && n.must {
		first := n.text(0)
		r.Missing = missing{1, 1, []missingRange{{first, first, 1}}} // and perhaps more: none came
	}
	for _, g := range a.Gaps.List {
		r.Missing.List = append(r.Missing.List, missingRange{n.text(g.After + 1), n.text(g.Before - 1), g.Missing})
	}
	r.Duplicates = repetitions{a.Duplicates.IDs, a.Duplicates.Extra, []repetition{}}
	for _, d := range a.Duplicates.List {
		r.Duplicates.List = append(r.Duplicates.List, repetition{n.text(d.ID), d.Count, d.Places})
	}
	return r
}

// finding reports whether something is wrong with the numbers.
func (r *gapsReport) finding() bool { return r.Missing.Numbers > 0 || r.Duplicates.Numbers > 0 }

func (r *gapsReport) write(out *bufio.Writer, asJSON bool) error {
	if asJSON {
		return command.WriteJSON(out, r)
	}
	rows := show.Rows{{"numbers", show.Thousands(r.Numbers)}}
	if r.BadLines > 0 {
		rows.Add("bad lines", "%s", show.Thousands(r.BadLines))
	}
	if r.Numbers > 0 {
		rows.Add("from, to", "%s, %s", r.First, r.Last)
	}
	if m := r.Missing; m.Numbers == 0 {
		rows.Add("missing", "none")
	} else {
		rows.Add("missing", "%s, in %s", show.Plural(m.Numbers, "number"), show.Plural(m.Places, "place"))
	}
	if d := r.Duplicates; d.Numbers == 0 {
		rows.Add("duplicates", "none")
	} else {
		rows.Add("duplicates", "%s came more than once, %s too many", show.Plural(d.Numbers, "number"),
			show.Thousands(d.Extra))
	}
	if r.StepsBack > 0 {
		rows.Add("order", "%s back", show.Plural(r.StepsBack, "step"))
	}
	_, err := out.Write(rows.Append(nil))
	gaps := table{title: "missing", more: r.Missing.Places - int64(len(r.Missing.List))}
	for _, m := range r.Missing.List {
		numbers := m.First
		if m.Numbers > 1 {
			numbers += " to " + m.Last
		}
		gaps.rows = append(gaps.rows, []string{numbers, show.Plural(m.Numbers, "number")})
	}
	gaps.write(out)
	twice := table{title: "duplicates", more: r.Duplicates.Numbers - int64(len(r.Duplicates.List))}
	for _, d := range r.Duplicates.List {
		times := fmt.Sprintf("%d times", d.Count)
		twice.rows = append(twice.rows, []string{d.Number, times, placesText(d.Places, d.Count)})
	}
	twice.write(out)
	return err
}

// table is a list of findings.
type table struct {
	title string
	rows  [][]string
	more  int64 // how many rows are left out
}

// write writes the table under its title, if it has rows. A failure to
// write shows when out is flushed.
func (t table) write(out *bufio.Writer) {
	if len(t.rows) == 0 {
		return
	}
	fmt.Fprintln(out, "\n"+t.title)
	var rows show.Rows
	for _, row := range t.rows {
		rows.Add("  "+row[0], "%s", strings.Join(row[1:], "  "))
	}
	_, _ = out.Write(rows.Append(nil))
	if t.more > 0 {
		fmt.Fprintf(out, "  and %s more (--limit)\n", show.Thousands(t.more))
	}
}
