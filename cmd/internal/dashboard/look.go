package dashboard

import (
	"encoding/binary"
	"fmt"
	"sort"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// What a node is, for a map: three bits.
const (
	cellNever    = iota // never leased
	cellFree            // was leased, and can be leased
	cellHeld            // held, and renewed in time
	cellLate            // held, but its renewal is overdue
	cellOwn             // held by this server
	cellVetoed          // an operator keeps it from being leased
	cellAhead           // nobody holds it, but what was granted lies ahead: it can be leased later
	cellReserved        // outside the range that can be leased
	cellKinds
)

// weight says which of several nodes in one square shows: what people look for first.
var weight = [cellKinds]int{cellNever: 0, cellReserved: 1, cellFree: 2, cellAhead: 3, cellHeld: 4, cellOwn: 5, cellVetoed: 6, cellLate: 7}

// look is a namespace's leases at one time. It is not changed once it was published.
type look struct {
	namespace lease.Namespace
	layout    snowfence.Layout
	nodes     int64     // of the layout
	from, at  time.Time // when reading began and ended
	rows      []row     // in the order of the nodes
	own       [2]int64  // nodes of this server, half-open
	cells     []byte
	per       int64 // nodes in a cell
	counts    [cellKinds]int64
}

// row is a node that was ever leased.
type row struct {
	node    int64
	until   int64 // Unix milliseconds
	written int64 // by the holder's clock
	state   byte
	taken   bool // there is a holder, even if its time is over
	label   string
	veto    string
	offset  offset
}

// offset is how far a holder's clock is ahead of this server's, in milliseconds, as far as it is known: a record that was written between two looks
// carries the time of its writer, which lay between those of the looks.
type offset struct {
	known, bounded bool
	low, high      int64 // high only when it is bounded
	written        int64 // of the record that it was learned from
}

func (l *look) row(r lease.Record) row {
	now := l.layout.TickOf(l.from)
	out := row{node: r.Node, label: r.Label, veto: r.Veto, written: r.At, taken: r.Holder != "", until: millis(l.layout.TimeOf(r.Until)), state: cellFree}
	if r.Generation < l.namespace.Since { // its ticks are those of an older layout; its floor is that of the namespace
		out.taken, out.until = false, millis(l.layout.TimeOf(l.namespace.Floor))
		r.Holder, r.Until = "", l.namespace.Floor
	}
	switch {
	case r.Veto != "":
		out.state = cellVetoed
	case r.Held(now):
		out.state = cellHeld
		if span := out.until - r.At; l.from.UnixMilli()-r.At > span/2 { // renewals come when a third has passed
			out.state = cellLate
		}
	case r.Until > now:
		out.state = cellAhead
	}
	return out
}

// paint makes the cells of the map and counts the nodes by what they are.
func (l *look) paint() {
	l.per = 1
	for (l.nodes-1)/l.per >= maxCells {
		l.per *= 2
	}
	l.cells = make([]byte, (l.nodes-1)/l.per+1)
	first, last := l.namespace.First, l.namespace.Last
	for i := range l.cells {
		if at := int64(i) * l.per; at+l.per-1 < first || at > last {
			l.cells[i] = cellReserved
		}
	}
	l.counts[cellReserved] = l.nodes - (last - first + 1)
	l.counts[cellNever] = last - first + 1
	for i := range l.rows {
		r := &l.rows[i]
		if r.node >= l.own[0] && r.node < l.own[1] && (r.state == cellHeld || r.state == cellLate) {
			r.state = cellOwn
		}
		if r.node >= first && r.node <= last {
			l.counts[cellNever]--
		} else if r.state == cellFree {
			r.state = cellReserved
			continue
		} else {
			l.counts[cellReserved]--
		}
		l.counts[r.state]++
		if c := &l.cells[r.node/l.per]; weight[r.state] > weight[*c] {
			*c = r.state
		}
	}
}

// find returns the row of a node, or nil.
func (l *look) find(node int64) *row {
	i := sort.Search(len(l.rows), func(i int) bool { return l.rows[i].node >= node })
	if i < len(l.rows) && l.rows[i].node == node {
		return &l.rows[i]
	}
	return nil
}

// compare learns from two looks how far the clocks of holders are off.
func (l *look) compare(before *look, learned map[int64]offset) {
	for i := range l.rows {
		r := &l.rows[i]
		o := learned[r.node]
		if r.written != o.written {
			fresh := offset{known: r.written > l.at.UnixMilli(), low: r.written - l.at.UnixMilli(), written: r.written}
			if before != nil {
				fresh.known, fresh.bounded = true, true
				fresh.high = r.written - before.from.UnixMilli()
			}
			o = fresh
			learned[r.node] = o
		}
		r.offset = o
	}
}

// maxFenced bounds the events of one look, when a whole fleet is cut off.
const maxFenced = 5

// fenced says which holders ran out of time without giving their nodes back since the last look.
func (l *look) fenced(before *look) (texts []string) {
	if before == nil || l.namespace.Layout != before.namespace.Layout {
		return nil
	}
	now, more := l.at.UnixMilli(), 0
	for i := range l.rows {
		r := &l.rows[i]
		if !r.taken || r.until > now {
			continue
		}
		if old := before.find(r.node); old == nil || old.until <= before.at.UnixMilli() || !old.taken {
			continue // it was over before
		}
		if len(texts) == maxFenced {
			more++
			continue
		}
		texts = append(texts, fmt.Sprintf("node %d: the lease of %q ran out without being renewed, so that its holder makes no more IDs with it", r.node, r.label))
	}
	if more > 0 {
		texts = append(texts, fmt.Sprintf("%d more leases ran out", more))
	}
	return texts
}

// runs writes the cells that are not as before as runs: how many to skip, then length × 8 + kind, all as varints. Of a map that is not known yet before is nil.
func runs(cells, before []byte) []byte {
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
