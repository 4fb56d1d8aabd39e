package dashboard

import (
	"encoding/binary"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
)

// The state of a node, for a map: three bits.
const (
	cellNever    = iota // never leased
	cellFree            // was leased, and can be leased
	cellHeld            // held, and renewed in time
	cellLate            // held, but its renewal is overdue
	cellOwn             // held by this server
	cellVetoed          // an operator keeps it from being leased
	cellAhead           // it has no holder, but what was granted lies ahead: it can be leased later
	cellReserved        // outside the range that can be leased
	cellKinds
)

// priority says which of several nodes in one square shows: what people
// look for first.
var priority = [cellKinds]int{
	cellNever: 0, cellReserved: 1, cellFree: 2, cellAhead: 3, cellHeld: 4, cellOwn: 5, cellVetoed: 6, cellLate: 7,
}

const (
	maxNodes = 1 << 18 // records that are looked at
	maxCells = 1 << 17 // squares of a map; of more nodes several share one
)

// nodeMap is a namespace's leases as a map shows them. It never changes
// once it was drawn.
type nodeMap struct {
	*server.View
	nodes    int64 // of the layout
	rows     []row // in the order of the nodes
	blocks   []block
	ownUnits map[int64]bool // first nodes of the units that this server holds
	cells    []byte
	per      int64 // nodes in a cell
	counts   [cellKinds]int64
}

// row is a unit that was ever leased: most often one node.
type row struct {
	*server.Lease
	end              int64 // the node after the unit
	until, writeTime time.Time
	state            byte
}

// block is a row of nodes that one lease took, or gave back, together.
type block struct {
	*row // the first
	last *row
}

// nodes is how many there are in the block.
func (b block) nodes() int64 { return b.last.end - b.Node }

// sameBlock reports whether the next row is of the same block; its records
// are written one by one. The unbroken run of granted ticks may be longer
// on one node than on the next.
func (r *row) sameBlock(next *row) bool {
	return r.end == next.Node && r.state == next.state && r.Label == next.Label && r.Veto == next.Veto &&
		r.Holder == next.Holder && r.Held == next.Held && r.Until == next.Until &&
		next.writeTime.Sub(r.writeTime).Abs() < time.Second
}

// drawView is [server.Views.Draw]: it makes the map of a view.
func (d *Dashboard) drawView(v *server.View) any {
	l := newNodeMap(v)
	l.setOwn(d.cfg.Service)
	l.paintCells()
	return l
}

// newNodeMap returns the map of a view, without its cells.
func newNodeMap(v *server.View) *nodeMap {
	l := &nodeMap{View: v, nodes: 1 << min(v.Layout.Bits(snowfence.FieldNode), 62)}
	for i := range v.Leases[:min(len(v.Leases), maxNodes)] {
		if one := &v.Leases[i]; one.Node < l.nodes {
			until, written := v.Layout.TimeOf(one.Until), time.UnixMilli(one.At)
			r := row{Lease: one, end: v.End(one), until: until, writeTime: written}
			r.state = l.stateOf(&r)
			l.rows = append(l.rows, r)
		}
	}
	return l
}

// setOwn notes this server's own nodes.
func (l *nodeMap) setOwn(s *server.Service) {
	l.ownUnits = map[int64]bool{}
	for _, sp := range s.Spaces.List() {
		if sp.Name != l.Namespace.Name {
			continue
		}
		for _, h := range sp.Held() {
			for n := h.FirstNode; n <= h.LastNode; n += l.Namespace.Unit {
				l.ownUnits[n] = true
			}
		}
	}
}

// stateOf returns the state of a node, without its place in the map.
func (l *nodeMap) stateOf(r *row) byte {
	switch {
	case r.Veto != "":
		return cellVetoed
	case r.Held && l.From.Sub(r.writeTime) > r.until.Sub(r.writeTime)/2: // renewals come when a third has passed
		return cellLate
	case r.Held:
		return cellHeld
	case r.until.After(l.From):
		return cellAhead
	}
	return cellFree
}

// paintCells makes the cells of the map and counts the nodes by their
// state.
func (l *nodeMap) paintCells() {
	l.per = 1
	for (l.nodes-1)/l.per >= maxCells {
		l.per *= 2
	}
	l.cells = make([]byte, (l.nodes-1)/l.per+1)
	first, last := l.Namespace.Nodes.From, l.Namespace.Nodes.Until-1
	for i := range l.cells {
		if at := int64(i) * l.per; at+l.per-1 < first || at > last {
			l.cells[i] = cellReserved
		}
	}
	l.counts[cellReserved] = l.nodes - (last - first + 1)
	l.counts[cellNever] = last - first + 1
	for i := range l.rows {
		r := &l.rows[i]
		n := r.end - r.Node
		if l.ownUnits[r.Node] && (r.state == cellHeld || r.state == cellLate) {
			r.state = cellOwn
		}
		if r.Node >= first && r.Node <= last {
			l.counts[cellNever] -= n
		} else if r.state == cellFree {
			r.state = cellReserved
			continue
		} else {
			l.counts[cellReserved] -= n
		}
		l.counts[r.state] += n
		for i := r.Node / l.per; i <= (r.end-1)/l.per; i++ {
			if c := &l.cells[i]; priority[r.state] > priority[*c] {
				*c = r.state
			}
		}
	}
	l.blocks = blocks(l.rows)
}

// blocks returns rows as blocks, most of which have one node.
func blocks(rows []row) (list []block) {
	for i := range rows {
		r := &rows[i]
		if n := len(list) - 1; n >= 0 && list[n].last.sameBlock(r) {
			list[n].last = r
		} else {
			list = append(list, block{r, r})
		}
	}
	return list
}

// encodeRuns writes the changed cells as runs: how many to skip, then
// length × 8 + kind, all as varints. For a new map, before is nil.
func encodeRuns(cells, before []byte) []byte {
	out := []byte{}
	skipFrom := 0
	for i := 0; i < len(cells); {
		if i < len(before) && cells[i] == before[i] {
			i++
			continue
		}
		j := i + 1
		for j < len(cells) && cells[j] == cells[i] && (j >= len(before) || cells[j] != before[j]) {
			j++
		}
		out = binary.AppendUvarint(out, uint64(i-skipFrom))
		out = binary.AppendUvarint(out, uint64(j-i)<<3|uint64(cells[i]))
		i, skipFrom = j, j
	}
	return out
}
