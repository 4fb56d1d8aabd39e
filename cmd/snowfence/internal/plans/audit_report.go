package plans

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/report"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/internal/audit"
)

// auditReport shows the findings of an audit.
type auditReport struct {
	result *audit.Result
	view   *show.View // nil without a layout
	bad    int64
	nodes  bool           // list all
	guess  *show.Evidence // nil without --guess
}

// writeHTML writes the findings as a page.
func (r *auditReport) writeHTML(name string, now time.Time) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	err = report.HTML(f, report.Page{Made: now, Result: r.result, Rows: r.rows(), Tables: r.tables()})
	return errors.Join(err, f.Close())
}

// tables are the lists of findings.
func (r *auditReport) tables() []report.Table {
	list := r.duplicates()
	tables := []report.Table{{Title: "duplicates", Rows: list, More: r.result.Duplicates.IDs - int64(len(list))}}
	if f := r.result.Fields; r.nodes && f != nil {
		nodes := report.Table{Title: "nodes"}
		for _, n := range f.Nodes.List {
			nodes.Rows = append(nodes.Rows, []string{strconv.FormatInt(n.Node, 10), show.Plural(n.Count, "ID")})
		}
		tables = append(tables, nodes)
	}
	return tables
}

// writeText writes the findings for people. A failure to write shows when
// out is flushed.
func (r *auditReport) writeText(out *bufio.Writer) {
	_, _ = out.Write(r.rows().Append(nil))
	for _, t := range r.tables() {
		writeTable(out, t)
	}
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
