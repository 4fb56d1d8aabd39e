package snowfence

import (
	"errors"
	"fmt"
	"slices"
)

// ErrUnproven means that [Meet] cannot compare two regions, because one has
// encrypted IDs, which can be any number.
var ErrUnproven = errors.New("nothing can be proven of encrypted IDs, which can be any number")

// Region is a set of IDs: a layout's nodes, sequence numbers and ticks,
// with any rollback value, scatter value and tag.
type Region struct {
	Layout Layout
	Key    string    // names the secret of an encrypted layout
	Nodes  NodeRange // half-open; the zero value means all

	First, Last int64 // sequence numbers, both included; may be below Layout.First
	From, Until int64 // ticks, half-open; MaxTick+1 while it has no end; empty if From >= Until
}

// RegionOf returns the region of all IDs that nodes of a layout can make,
// in all of its ticks. It includes sequence numbers below Layout.First,
// which original libraries use after the clock stepped back. The zero range
// means all nodes. It returns the same errors as [Meet].
func RegionOf(l Layout, nodes NodeRange) (Region, error) {
	s, err := NewScheme(l.decrypted())
	if err != nil {
		return Region{}, err
	}
	return Region{Layout: l, Nodes: nodes, Last: s.layout.Last, Until: s.MaxTick() + 1}, nil
}

// Collision is an ID that two regions have in common.
type Collision struct {
	ID       ID
	From, To Parts // of the ID, in the first and in the second region
}

// Meet returns the lowest ID that is in both regions, compared as unsigned
// numbers. A nil Collision and a nil error prove that there is none.
//
// Two regions with the same encrypted layout and secret are compared by
// their IDs before encryption, because encryption keeps different IDs
// different. The ID it returns is then not encrypted. For all other
// encrypted regions the error is [ErrUnproven]. Other errors are
// [ErrInvalidLayout], and [ErrInvalidID] for nodes, numbers or ticks that
// the layout does not have.
func Meet(a, b Region) (*Collision, error) {
	if a.Layout.Cipher != Plain || b.Layout.Cipher != Plain {
		if a.Key == "" || a.Key != b.Key || !a.Layout.Equal(b.Layout) {
			return nil, ErrUnproven
		}
		a.Layout, b.Layout = a.Layout.decrypted(), b.Layout.decrypted()
	}
	from, err := a.sideOf()
	if err != nil {
		return nil, err
	}
	to, err := b.sideOf()
	if err != nil {
		return nil, err
	}
	if a.From >= a.Until || b.From >= b.Until {
		return nil, nil
	}
	return common(from, to)
}

// decrypted returns the layout of IDs before encryption, without the number
// of the secret.
func (l Layout) decrypted() Layout {
	l.Cipher = Plain
	l.Fields = slices.DeleteFunc(slices.Clone(l.Fields), func(f Field) bool { return f.Name == FieldKey })
	return l
}

func (r Region) sideOf() (*side, error) {
	d, err := newSide(r.Layout, r.Nodes)
	if err != nil {
		return nil, err
	}
	if top := int64(1)<<d.scheme.layout.Bits(FieldSequence) - 1; r.First < 0 || r.First > r.Last || r.Last > top {
		return nil, fmt.Errorf("%w: sequence numbers %d to %d; the layout has 0 to %d", ErrInvalidID, r.First, r.Last,
			top)
	}
	if end := d.scheme.MaxTick() + 1; r.From < 0 || r.Until > end {
		return nil, fmt.Errorf("%w: ticks from %d until %d; the layout has ticks 0 to %d",
			ErrInvalidID, r.From, r.Until, end-1)
	}
	d.setNumbers(r.First, r.Last)
	d.setTicks(r.From, r.Until-1)
	return d, nil
}

// side is one layout as a set of IDs: time, node and sequence each in an
// interval, rollback, scatter and tag free.
type side struct {
	scheme *Scheme
	lo, hi [fields]uint64                // bounds of each field
	bits   [64]struct{ field, bit int8 } // what each bit of the ID belongs to, by bit number
}

// Fields of a side. The node is one number: its bits stand in falling
// order, whatever lies between.
const (
	sideTime = iota
	sideNode
	sideSeq
	fields
	sideFree = -1
	sideZero = -2 // above the layout
)

func newSide(l Layout, nodes NodeRange) (*side, error) {
	s, err := NewScheme(l)
	if err != nil {
		return nil, err
	}
	d := &side{scheme: s}
	d.hi[sideNode] = 1<<s.nodeBits - 1
	if nodes != (NodeRange{}) {
		if nodes.From < 0 || nodes.From >= nodes.Until || nodes.Until > s.Nodes() {
			return nil, fmt.Errorf("%w: nodes from %d until %d; the layout has nodes 0 to %d",
				ErrInvalidID, nodes.From, nodes.Until, s.Nodes()-1)
		}
		d.lo[sideNode], d.hi[sideNode] = uint64(nodes.From), uint64(nodes.Until-1)
	}
	d.lo[sideSeq], d.hi[sideSeq] = uint64(s.layout.First), uint64(s.layout.Last)
	for i := range d.bits {
		d.bits[i].field = sideZero
	}
	left := s.nodeBits
	for _, f := range s.placed {
		for i := f.Bits - 1; i >= 0; i-- {
			b := &d.bits[int(f.shift)+i]
			b.field, b.bit = sideFree, int8(i)
			switch f.Name {
			case FieldTime:
				b.field = sideTime
			case FieldSequence:
				b.field = sideSeq
			case FieldRollback, FieldScatter, FieldTag:
			default:
				left--
				b.field, b.bit = sideNode, int8(left)
			}
		}
	}
	return d, nil
}

func (d *side) setTicks(first, last int64) {
	d.lo[sideTime], d.hi[sideTime] = uint64(first), uint64(last)
}

func (d *side) setNumbers(first, last int64) {
	d.lo[sideSeq], d.hi[sideSeq] = uint64(first), uint64(last)
}

// common returns the lowest ID, unsigned, in both sides; nil is the proof
// that there is none.
func common(from, to *side) (*Collision, error) {
	o := &overlap{from: from, to: to}
	if !o.searchBits(63, tight(tightAll)) {
		return nil, nil
	}
	x := &Collision{ID: ID(o.id)}
	var err error
	if x.From, err = from.scheme.Decode(x.ID); err != nil {
		return nil, err
	}
	if x.To, err = to.scheme.Decode(x.ID); err != nil {
		return nil, err
	}
	return x, nil
}

// overlap looks for an ID in both sides: an automaton that reads the 64
// bits from the highest down. It remembers whether each bounded field still
// equals the start of its lower and of its upper bound: two flags for each
// of three fields on two sides. The search visits each of 2^12 states at
// each of 64 bits at most once.
type overlap struct {
	from, to *side
	id       uint64
	dead     [64][tightAll + 1]bool // states from which no ID is left
}

type tight uint16

const (
	flagsPerSide = 2 * fields
	tightAll     = 1<<(2*flagsPerSide) - 1
)

// searchBits reports whether the bits from bit down can be chosen, zeros
// first, and leaves them in id.
func (o *overlap) searchBits(bit int, s tight) bool {
	if bit < 0 {
		return true
	}
	if o.dead[bit][s] {
		return false
	}
	for v := range uint64(2) {
		next, ok := o.from.stepBit(bit, v, s, 0)
		if ok {
			next, ok = o.to.stepBit(bit, v, next, flagsPerSide)
		}
		if !ok {
			continue
		}
		o.id = o.id&^(1<<bit) | v<<bit
		if o.searchBits(bit-1, next) {
			return true
		}
	}
	o.dead[bit][s] = true
	return false
}

// stepBit reads one bit, v, and returns the next state, or false if the ID
// is not in the side. flags is the side's first flag.
func (d *side) stepBit(bit int, v uint64, s tight, flags int) (tight, bool) {
	b := d.bits[bit]
	switch b.field {
	case sideFree:
		return s, true
	case sideZero:
		return s, v == 0
	}
	low := tight(1) << (flags + 2*int(b.field))
	high := low << 1
	if s&low != 0 {
		if bound := d.lo[b.field] >> b.bit & 1; v < bound {
			return s, false
		} else if v > bound {
			s &^= low
		}
	}
	if s&high != 0 {
		if bound := d.hi[b.field] >> b.bit & 1; v > bound {
			return s, false
		} else if v < bound {
			s &^= high
		}
	}
	return s, true
}
