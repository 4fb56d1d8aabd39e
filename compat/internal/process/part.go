package process

import (
	"fmt"
	"strings"

	"github.com/snowfence/snowfence"
)

// spaceKey names a space. Layouts with equal keys give one instant the same
// tick and place it at the same bit.
type spaceKey struct {
	epoch, tick int64 // nanoseconds
	below       int   // bits below the time
	cipher      snowfence.Cipher
	sample      [2]snowfence.ID // what the secret makes of two IDs; zero for plain ones
}

// part is the nodes and sequence numbers of a grant, in every tick.
type part struct {
	division string           // what each bit below the time is of: n of the node, s of the sequence
	region   snowfence.Region // in tick 0, before encryption
}

// partOf returns the part of a grant, and its space. Its ticks do not
// matter.
func partOf(s *snowfence.Scheme, gr snowfence.Grant) (spaceKey, part, error) {
	l := s.Layout()
	k := spaceKey{epoch: l.Epoch.UnixNano(), tick: int64(l.Tick), cipher: l.Cipher}
	count := max(gr.Nodes, 1)
	switch {
	case l.Bits(snowfence.FieldRollback) > 0 || l.Fields[0].Name != snowfence.FieldTime ||
		l.Bits(snowfence.FieldTag) > 0:
		return k, part{}, fmt.Errorf("snowfence: the layout %s has rollback bits, a tag, or a field above the time: "+
			"take a generator of your own for it", l)
	case gr.Node < 0 || gr.Node > s.Nodes()-count:
		return k, part{}, fmt.Errorf("snowfence: node %d: the layout has nodes 0 to %d", gr.Node, s.Nodes()-1)
	}
	var p part
	for _, f := range l.Fields[1:] {
		kind := "n"
		if f.Name == snowfence.FieldSequence {
			kind = "s"
		}
		p.division += strings.Repeat(kind, f.Bits)
	}
	k.below = len(p.division)
	if s.Encrypted() {
		for i := range k.sample {
			id, err := s.Compose(snowfence.Parts{Tick: int64(i)})
			if err != nil {
				return k, p, err
			}
			k.sample[i] = id
		}
	}
	first, last := gr.FirstSeq, gr.LastSeq
	if last == 0 { // as first is
		first, last = l.First, l.Last
	}
	l.Cipher = snowfence.Plain
	nodes := snowfence.NodeRange{From: gr.Node, Until: gr.Node + count}
	p.region = snowfence.Region{Layout: l, Nodes: nodes, First: first, Last: last, Until: 1}
	return k, p, nil
}

// same reports whether both have the same numbers, in layouts of one
// division.
func (p part) same(q part) bool {
	a, b := p.region, q.region
	return p.division == q.division && a.Nodes == b.Nodes && a.First == b.First && a.Last == b.Last
}

// overlaps reports whether both parts of a space have a number in common.
func (p part) overlaps(q part) bool {
	a, b := p.region, q.region
	if p.division == q.division { // the usual case: Meet takes half a millisecond
		return a.Nodes.From < b.Nodes.Until && b.Nodes.From < a.Nodes.Until && a.First <= b.Last && b.First <= a.Last
	}
	met, err := snowfence.Meet(a, b)
	return met != nil || err != nil
}
