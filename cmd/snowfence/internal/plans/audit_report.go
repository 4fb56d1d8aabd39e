package plans

import (
	"bufio"
	"fmt"
	"strconv"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/internal/audit"
)

// auditReport shows the findings of an audit.
type auditReport struct {
	result *audit.Result
	view   *show.View // nil without a layout
	bad    int64
	guess  *show.Evidence // nil without --guess
	nodes  bool           // list all
}

// writeText writes the findings for people. A failure to write shows when
// out is flushed.
func (r *auditReport) writeText(out *bufio.Writer) {
	_, _ = out.Write(r.rows().Append(nil))
	list := r.duplicates()
	table{"duplicates", list, r.result.Duplicates.IDs - int64(len(list))}.write(out)
	if f := r.result.Fields; r.nodes && f != nil {
		var nodes [][]string
		for _, n := range f.Nodes.List {
			nodes = append(nodes, []string{strconv.FormatInt(n.Node, 10), show.Plural(n.Count, "ID")})
		}
		table{"nodes", nodes, 0}.write(out)
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
