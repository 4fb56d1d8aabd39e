package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/report"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/internal/audit"
)

// auditReport shows what an audit found.
type auditReport struct {
	result *audit.Result
	view   *show.View // nil without a layout
	places places
	bad    int64
	now    time.Time
}

// auditJSON is the result with the places of duplicates and steps back, which only the
// program knows.
type auditJSON struct {
	*audit.Result
	Duplicates struct {
		IDs   int64           `json:"ids"`
		Extra int64           `json:"extra"`
		List  []duplicateJSON `json:"list"`
	} `json:"duplicates"`
	Order struct {
		Violations int64      `json:"violations"`
		Deepest    uint64     `json:"deepest"`
		List       []stepJSON `json:"list"`
	} `json:"order"`
	BadLines int64 `json:"bad_lines"`
}

type duplicateJSON struct {
	audit.Duplicate
	Places []string `json:"places"`
}

type stepJSON struct {
	audit.Step
	Place string `json:"place"`
}

func (r *auditReport) writeJSON(w io.Writer) error {
	out := auditJSON{Result: r.result, BadLines: r.bad}
	d, o := r.result.Duplicates, r.result.Order
	out.Duplicates.IDs, out.Duplicates.Extra = d.IDs, d.Extra
	out.Duplicates.List = []duplicateJSON{}
	for _, d := range d.List {
		out.Duplicates.List = append(out.Duplicates.List, duplicateJSON{d, r.places.names(d.Positions)})
	}
	out.Order.Violations, out.Order.Deepest = o.Violations, o.Deepest
	out.Order.List = []stepJSON{}
	for _, s := range o.List {
		out.Order.List = append(out.Order.List, stepJSON{s, r.places.name(s.Position)})
	}
	return json.NewEncoder(w).Encode(out)
}

// writeFiles writes the reports with pictures that are asked for.
func (r *auditReport) writeFiles(html, svg string) error {
	if html != "" {
		page := report.Page{Made: r.now, Result: r.result, Rows: r.rows(), Duplicates: r.duplicates()}
		if err := writeFile(html, func(w io.Writer) error { return report.HTML(w, page) }); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	if svg != "" {
		if err := writeFile(svg, func(w io.Writer) error { return report.SVG(w, r.result) }); err != nil {
			return fmt.Errorf("--svg: %w", err)
		}
	}
	return nil
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// duplicates are the listed duplicates, for people.
func (r *auditReport) duplicates() [][]string {
	var list [][]string
	for _, d := range r.result.Duplicates.List {
		row := []string{d.ID.String(), fmt.Sprintf("%d times", d.Count), ""}
		for i, place := range r.places.names(d.Positions) {
			if i > 0 {
				row[2] += ", "
			}
			row[2] += place
		}
		if d.Count > int64(len(d.Positions)) {
			row[2] += ", …"
		}
		if made := r.madeAt(d.ID); made != "" {
			row = append(row, made)
		}
		list = append(list, row)
	}
	return list
}

// madeAt is the time and node of an ID, if the layout is known.
func (r *auditReport) madeAt(id snowfence.ID) string {
	if r.view == nil {
		return ""
	}
	p, err := r.view.Scheme.Decode(id)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s, node %d, sequence %d", p.Time.Format(time.RFC3339Nano), p.Node, p.Sequence)
}
