package dashboard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/view"
)

// leaseRow is a node in a list, or a block of nodes that one lease took
// together.
type leaseRow struct {
	Lease json.RawMessage `json:"lease"` // of the first, as all wires have it
	Nodes int64           `json:"nodes"`
	Parts string          `json:"parts,omitempty"` // of a node that has several
	State byte            `json:"state"`
}

// leasePage is a piece of a list.
type leasePage struct {
	Total int        `json:"total"` // that match
	Rows  []leaseRow `json:"rows"`
}

// maxRows is how many nodes one answer has.
const maxRows = 200

// leases is GET
// /dashboard/api/leases?namespace=&node=&find=&held=&order=&offset=&limit=:
// blocks of nodes that were ever leased, a page at a time. node is one
// node; find is a part of a label, or a number.
func (d *Dashboard) leases(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	name := q.Get("namespace")
	id, err := d.authorizeNamespace(r, name)
	if err != nil {
		return err
	}
	number := map[string]int64{"node": -1, "offset": 0, "limit": 50}
	for key := range number {
		if text := q.Get(key); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 {
				return server.Errorf(server.Invalid, "%s is not a number from 0 up", key)
			}
			number[key] = n
		}
	}
	watched, leave := d.cfg.Service.Views.Watched(name)
	defer leave()
	v, err := watched.Last(r.Context())
	if err != nil {
		return err
	}
	l, ok := v.Picture.(*nodeMap)
	if !ok {
		return server.Errorf(server.Internal, "the view has no picture")
	}
	c := &server.Caller{Identity: id, From: r.RemoteAddr}
	defer d.cfg.Service.Ended(c)
	if err := d.cfg.Service.Reserve(c, maxRows*server.LeaseRoom+32*int64(len(l.blocks))); err != nil {
		return err
	}
	list := l.selectBlocks(number["node"], strings.ToLower(q.Get("find")), q.Get("held") == "true")
	sortRows(list, q.Get("order"))
	from := min(int(min(number["offset"], int64(len(list)))), len(list))
	to := min(from+int(min(number["limit"], maxRows)), len(list))
	out := leasePage{Total: len(list), Rows: []leaseRow{}}
	for _, r := range list[from:to] {
		row, err := l.describeBlock(r)
		if err != nil {
			return server.NewError(server.Internal, err)
		}
		out.Rows = append(out.Rows, row)
	}
	return writeJSON(w, out)
}

// selectBlocks returns the blocks that are asked for.
func (l *nodeMap) selectBlocks(node int64, find string, held bool) (list []block) {
	if node >= 0 {
		first := node / l.per * l.per
		byLast := func(b block, node int64) int { return cmp.Compare(b.last.end-1, node) }
		at, _ := slices.BinarySearchFunc(l.blocks, first, byLast)
		for _, b := range l.blocks[at:] {
			if b.Node >= first+l.per || len(list) == maxRows {
				break
			}
			list = append(list, b)
		}
		return list
	}
	number, err := strconv.ParseInt(find, 10, 64)
	for _, b := range l.blocks {
		if held && b.state != cellHeld && b.state != cellLate && b.state != cellOwn {
			continue
		}
		if find == "" || strings.Contains(strings.ToLower(b.Label), find) ||
			err == nil && b.Node <= number && number < b.last.end {
			list = append(list, b)
		}
	}
	return list
}

// sortRows sorts rows: by node unless asked for another order; a - in front
// turns it round.
func sortRows(list []block, order string) {
	key, down := strings.CutPrefix(order, "-")
	slices.SortStableFunc(list, func(a, b block) int {
		c := 0
		switch key {
		case "label":
			c = cmp.Compare(a.Label, b.Label)
		case "until":
			c = cmp.Compare(a.Until, b.Until)
		case "state":
			c = -cmp.Compare(priority[a.state], priority[b.state])
		default:
			c = cmp.Compare(a.Node, b.Node)
		}
		if down {
			c = -c
		}
		return c
	})
}

func (l *nodeMap) describeBlock(r block) (out leaseRow, err error) {
	out.Nodes, out.State = r.nodes(), r.state
	if out.Lease, err = view.JSON(l.Message(*r.Lease)); err != nil {
		return out, err
	}
	parts := l.Layout.NodeParts()
	if len(parts) < 2 || r.nodes() > 1 {
		return out, nil
	}
	var texts []string
	rest := r.Node
	for _, p := range slices.Backward(parts) {
		texts = append(texts, fmt.Sprintf("%s %d", p.Name, rest&(1<<p.Bits-1)))
		rest >>= p.Bits
	}
	slices.Reverse(texts)
	out.Parts = strings.Join(texts, ", ")
	return out, nil
}
