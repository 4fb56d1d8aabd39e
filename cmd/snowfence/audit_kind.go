package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/kinds"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/internal/audit"
	"github.com/spf13/cobra"
)

// auditKind audits IDs of another kind.
func (p *program) auditKind(cmd *cobra.Command, f *auditFlags, files []string, out *bufio.Writer) error {
	if err := p.onlyFlags(cmd, "kind", "column", "field", "json", "memory", "temp-dir", "limit"); err != nil {
		return err
	}
	k, err := kinds.Parse(f.kind)
	if err != nil {
		return usagef("--kind: %w", err)
	}
	o, format, err := f.options()
	if err != nil {
		return usageError{err}
	}
	format.ParseWide = k.Value
	bar := &auditProgress{w: p.stderr}
	defer bar.end()
	defer limitHeap(o.Memory)()
	a, err := audit.NewWide(audit.WideOptions{
		Memory: o.Memory, TempDir: o.TempDir, Limit: o.Limit, Progress: bar.checking,
		Time: k.Time(), Random: k.Random(),
	})
	if err != nil {
		return usageError{err}
	}
	defer a.Close()
	add := func(b *audit.Batch) error { return a.Add(b.Wide...) }
	in := &auditInput{p: p, format: format, add: add, progress: bar}
	if err := in.readAll(cmd.Context(), files); err != nil {
		return err
	}
	result, err := a.Result(cmd.Context())
	bar.end()
	if err != nil {
		return err
	}
	in.reportBad()
	r := &kindReport{result, k, &in.places, in.bad}
	if f.json {
		err = json.NewEncoder(out).Encode(r.json())
	} else {
		r.writeText(out)
	}
	return codeOf(err, result.Duplicates.IDs > 0, in.bad)
}

// kindReport shows what an audit of another kind found.
type kindReport struct {
	*audit.WideResult
	kind   kinds.Kind
	places *places
	bad    int64
}

func (r *kindReport) writeText(out *bufio.Writer) {
	rows := [][2]string{{"IDs", show.Thousands(r.Count)}}
	add := func(name, format string, args ...any) {
		rows = append(rows, [2]string{name, fmt.Sprintf(format, args...)})
	}
	if r.bad > 0 {
		add("bad lines", "%s", show.Thousands(r.bad))
	}
	if r.Count > 0 {
		if d := r.Duplicates; d.IDs == 0 {
			add("duplicates", "none")
		} else {
			add("duplicates", "%s came more than once, %s too many", show.Plural(d.IDs, "ID"), show.Thousands(d.Extra))
		}
		add("order", "%s", r.order())
		add("from, to", "%s, %s", r.kind.Text(r.Lowest), r.kind.Text(r.Highest))
		rows = append(rows, r.evenRows()...)
	}
	_, _ = out.Write(show.AppendRows(nil, rows)) // a failure shows when it is flushed
	if len(r.Duplicates.List) == 0 {
		return
	}
	fmt.Fprintln(out, "\nduplicates")
	for _, d := range r.Duplicates.List {
		places := strings.Join(r.places.names(d.Positions), ", ")
		if d.Count > int64(len(d.Positions)) {
			places += ", …"
		}
		fmt.Fprintf(out, "  %s  %d times  %s\n", r.kind.Text(d.ID), d.Count, places)
	}
	if more := r.Duplicates.IDs - int64(len(r.Duplicates.List)); more > 0 {
		fmt.Fprintf(out, "  and %s more (--limit)\n", show.Thousands(more))
	}
}

// evenRows says whether the random bits look random; nothing where there are none.
func (r *kindReport) evenRows() (rows [][2]string) {
	width, tested, even := 0, true, true
	for _, u := range r.Even {
		width += u.Width
		tested, even = tested && u.Tested(), even && u.Even(evenAlpha)
		rows = append(rows, evenRows(u)[1:]...)
	}
	text := fmt.Sprintf("the %d random bits look random", width)
	switch {
	case width == 0:
		return nil
	case !tested:
		return [][2]string{{"evenness", "too few IDs to tell"}}
	case !even:
		text = fmt.Sprintf("the %d random bits do not look random: they are counted up, or their source is poor", width)
	}
	return append([][2]string{{"evenness", text}}, rows...)
}

func (r *kindReport) order() string {
	o := r.Order
	text := "never falls"
	if o.Violations > 0 {
		text = show.Plural(o.Violations, "step") + " back"
		if len(o.List) > 0 {
			text += ", the first at " + r.places.name(o.List[0].Position)
		}
	}
	switch {
	case !r.kind.Ordered():
		return text + "; IDs of this kind have no order"
	case o.Violations > 0:
		return text + fmt.Sprintf("; %s to an earlier time, the others within one", show.Thousands(o.InTime))
	}
	return text
}

// kindJSON is the result for programs.
type kindJSON struct {
	Kind       string             `json:"kind"`
	Count      int64              `json:"count"`
	Distinct   int64              `json:"distinct"`
	Lowest     string             `json:"lowest,omitempty"`
	Highest    string             `json:"highest,omitempty"`
	Duplicates kindDuplicatesJSON `json:"duplicates"`
	Order      kindOrderJSON      `json:"order"`
	Uniformity []audit.Uniformity `json:"uniformity"`
	BadLines   int64              `json:"bad_lines"`
}

type kindDuplicatesJSON struct {
	IDs   int64               `json:"ids"`
	Extra int64               `json:"extra"`
	List  []kindDuplicateJSON `json:"list"`
}

type kindDuplicateJSON struct {
	ID        string   `json:"id"`
	Count     int64    `json:"count"`
	Positions []int64  `json:"positions"`
	Places    []string `json:"places"`
}

type kindOrderJSON struct {
	Violations int64          `json:"violations"`
	InTime     int64          `json:"in_time"`
	List       []kindStepJSON `json:"list"`
}

type kindStepJSON struct {
	Position int64  `json:"position"`
	Before   string `json:"before"`
	ID       string `json:"id"`
	Place    string `json:"place"`
}

func (r *kindReport) json() kindJSON {
	out := kindJSON{
		Kind: r.kind.Name(), Count: r.Count, Distinct: r.Distinct, BadLines: r.bad,
		Duplicates: kindDuplicatesJSON{r.Duplicates.IDs, r.Duplicates.Extra, []kindDuplicateJSON{}},
		Order:      kindOrderJSON{r.Order.Violations, r.Order.InTime, []kindStepJSON{}},
		Uniformity: r.Even,
	}
	if out.Uniformity == nil {
		out.Uniformity = []audit.Uniformity{}
	}
	if r.Count > 0 {
		out.Lowest, out.Highest = r.kind.Text(r.Lowest), r.kind.Text(r.Highest)
	}
	for _, d := range r.Duplicates.List {
		out.Duplicates.List = append(out.Duplicates.List, kindDuplicateJSON{
			r.kind.Text(d.ID), d.Count, d.Positions, r.places.names(d.Positions),
		})
	}
	for _, s := range r.Order.List {
		out.Order.List = append(out.Order.List, kindStepJSON{
			s.Position, r.kind.Text(s.Before), r.kind.Text(s.ID), r.places.name(s.Position),
		})
	}
	return out
}
