package process

import (
	"fmt"

	"github.com/snowfence/snowfence"
)

// spaceKey names a space. Layouts with equal keys give one instant the same
// tick and place it at the same bit.
type spaceKey struct {
	epoch, tick int64 // nanoseconds
	below       uint8 // bits below the time
	cipher      snowfence.Cipher
	sample      [2]snowfence.ID // what the secret makes of two IDs; zero for plain ones
}

// rectangle is the low bits of one node: base, base + step, … up to top.
type rectangle struct {
	base, top uint64
	shift     uint8 // step is 1 << shift; 0 for a single number
}

// place returns where the IDs of a grant lie. Its ticks do not matter.
func place(s *snowfence.Scheme, gr snowfence.Grant) (spaceKey, []rectangle, error) {
	l := s.Layout()
	first, last := uint64(gr.FirstSeq), uint64(gr.LastSeq)
	if first == 0 && last == 0 {
		first, last = uint64(l.First), uint64(l.Last)
	}
	k := spaceKey{epoch: l.Epoch.UnixNano(), tick: int64(l.Tick), cipher: l.Cipher}
	if l.Bits(snowfence.FieldRollback) > 0 || l.Fields[0].Name != snowfence.FieldTime ||
		l.Bits(snowfence.FieldTag) > 0 {
		return k, nil, fmt.Errorf("snowfence: the layout %s has rollback bits, a tag, or a field above the time: "+
			"take a generator of your own for it", l)
	}
	if gr.Node < 0 || gr.Node >= s.Nodes() {
		return k, nil, fmt.Errorf("snowfence: node %d: the layout has nodes 0 to %d", gr.Node, s.Nodes()-1)
	}
	for i := len(l.Fields) - 1; l.Fields[i].Name != snowfence.FieldTime; i-- {
		k.below += uint8(l.Fields[i].Bits)
	}
	if s.Encrypted() {
		for i := range k.sample {
			id, err := s.Compose(snowfence.Parts{Tick: int64(i)})
			if err != nil {
				return k, nil, err
			}
			k.sample[i] = id
		}
	}
	var rects []rectangle
	for i := range max(gr.Nodes, 1) {
		at, shift := lowBits(l, uint64(gr.Node+i))
		r := rectangle{base: at | first<<shift, top: at | last<<shift}
		if first < last {
			r.shift = shift
		}
		rects = append(rects, r)
	}
	return k, rects, nil
}

// lowBits returns the bits of a node, and how far above the lowest bit the
// sequence stands.
func lowBits(l snowfence.Layout, node uint64) (at uint64, seqShift uint8) {
	below := uint8(0)
	for i := len(l.Fields) - 1; l.Fields[i].Name != snowfence.FieldTime; i-- {
		width := uint8(l.Fields[i].Bits)
		if l.Fields[i].Name == snowfence.FieldSequence {
			seqShift = below
		} else {
			at |= node & (1<<width - 1) << below
			node >>= width
		}
		below += width
	}
	return at, seqShift
}

// overlaps reports whether both rectangles have a number in common.
func (r rectangle) overlaps(q rectangle) bool {
	if r.shift > q.shift {
		r, q = q, r
	}
	// q has the longer steps. Its numbers agree below them, so that all or none
	// are in step with r; of those, one has to lie between the ends of r.
	if (r.base^q.base)&(1<<r.shift-1) != 0 {
		return false
	}
	if q.base > r.top || q.top < r.base {
		return false
	}
	at := q.base
	if at < r.base { // the first number of q from r.base on
		at += (r.base - at + 1<<q.shift - 1) >> q.shift << q.shift
	}
	return at <= min(r.top, q.top)
}
