package main

import (
	"bufio"
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
	bad    int64
	now    time.Time
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

// writeText writes the findings for people. A failure to write shows when out is flushed.
func (r *auditReport) writeText(out *bufio.Writer) {
	_, _ = out.Write(r.rows().Append(nil))
	list := r.duplicates()
	for _, row := range list {
		row[0] = "  " + row[0]
	}
	writeList(out, "duplicates", list, r.result.Duplicates.IDs)
}

// duplicates are the listed duplicates, for people.
func (r *auditReport) duplicates() [][]string {
	var list [][]string
	for _, d := range r.result.Duplicates.List {
		row := []string{d.ID.String(), fmt.Sprintf("%d times", d.Count), placesText(d.Places, d.Count)}
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
