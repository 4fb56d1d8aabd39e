package process

import (
	"fmt"

	"github.com/snowfence/snowfence"
)

// spaceKey names a space. Layouts with equal keys give one instant the same tick
// and place it at the same bit.
type spaceKey struct {
	epoch, tick int64 // nanoseconds
	below       uint8 // bits below the time
	cipher      snowfence.Cipher
	sample      [2]snowfence.ID // what the secret makes of two IDs; zero for plain ones
}

// shape says which low bits a rectangle of any node has. Two rectangles of one
// shape are equal, or have no low bits in common.
type shape struct {
	nodes       uint64 // mask of the node's bits
	seqShift    uint8
	first, last uint64 // sequence numbers
}

// rectangle is the low bits of one node: base, base + step, … up to top.
type rectangle struct {
	base, top uint64
	shift     uint8 // step is 1 << shift; 0 for a single number
}

// place returns where the IDs of a node lie.
func place(s *snowfence.Scheme, node int64) (spaceKey, shape, rectangle, error) {
	return placeSlice(s, node, 0, 0)
}

// placeSlice is place of some sequence numbers. As in a grant, 0 to 0 are all.
func placeSlice(s *snowfence.Scheme, node, first, last int64) (spaceKey, shape, rectangle, error) {
	l := s.Layout()
	if first == 0 && last == 0 {
		first, last = l.First, l.Last
	}
	k := spaceKey{epoch: l.Epoch.UnixNano(), tick: int64(l.Tick), cipher: l.Cipher}
	if l.Bits(snowfence.FieldRollback) > 0 || l.Bits(snowfence.FieldKey) > 0 {
		return k, shape{}, rectangle{}, fmt.Errorf("snowfence: the layout %s has rollback or key bits: "+
			"take a fence of your own for it", l)
	}
	if node < 0 || node >= s.Nodes() {
		return k, shape{}, rectangle{}, fmt.Errorf("snowfence: node %d: the layout has nodes 0 to %d",
			node, s.Nodes()-1)
	}
	var f shape
	var at uint64
	for i := len(l.Fields) - 1; l.Fields[i].Name != snowfence.FieldTime; i-- {
		width := l.Fields[i].Bits
		if mask := uint64(1)<<width - 1; l.Fields[i].Name == snowfence.FieldSequence {
			f.seqShift = k.below
		} else {
			f.nodes |= mask << k.below
			at |= uint64(node) & mask << k.below
			node >>= width
		}
		k.below += uint8(width)
	}
	f.first, f.last = uint64(first), uint64(last)
	if s.Encrypted() {
		for i := range k.sample {
			id, err := s.Compose(snowfence.Parts{Tick: int64(i)})
			if err != nil {
				return k, f, rectangle{}, err
			}
			k.sample[i] = id
		}
	}
	r := rectangle{base: at | f.first<<f.seqShift, top: at | f.last<<f.seqShift}
	if f.first < f.last {
		r.shift = f.seqShift
	}
	return k, f, r, nil
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
