package snowfence

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Change is a change of layout under a running system: IDs of From exist already, IDs of
// To are made from now on.
//
// The rules people follow by hand (the epoch only gets older, widths only grow, if one
// shrinks the sum must grow) are neither enough nor necessary. [Change.Check] decides the
// question itself, exactly.
type Change struct {
	From, To Layout

	At time.Time // To stamps no tick that starts before this instant
	// From stamps no tick that starts at this instant or later; zero means At. It is the
	// highest floor of all grants, not the clock: IDs may run ahead of it
	Floor time.Time
	Since time.Time // From stamps no tick that starts before this instant; zero means its epoch

	FromNodes, ToNodes NodeRange // nodes in use on either side; the zero value means all

	// Past are the layouts before From. Two safe changes are no safe walk: To may repeat
	// a layout that From itself never met.
	Past []Era
}

// Era is a layout while IDs were made with it, by any of its nodes.
type Era struct {
	Layout Layout
	From   time.Time // it stamped no tick that starts before this instant; zero means its epoch
	Until  time.Time // it stamped no tick that starts at this instant or later
}

// Verdict is what [Change.Check] found.
type Verdict struct {
	// Collision is an ID that both sides can make, the lowest one as an unsigned number.
	// With nil it is proven that there is none.
	Collision *Collision

	LastOld  ID // highest ID, as a signed number, that From or the layouts before it can have made
	FirstNew ID // lowest ID of To's first tick
}

// Collision is an ID with two meanings: the counter-example to a change of layout.
type Collision struct {
	ID       ID
	From, To Parts
	Past     int // 1 and more: From is of Change.Past[Past-1]; 0: it is of Change.From
}

// Ordered reports whether IDs made after the change sort above all earlier ones, as
// signed numbers. A change without it is safe, but columns sorted by ID are no longer in
// the order of time. It says nothing of the day on which To itself turns negative.
func (v Verdict) Ordered() bool { return v.FirstNew > v.LastOld }

// Check proves that no ID that To can make equals one that From, or a layout before it,
// can have made, or finds an ID that both can. It is exact: all nodes and rollback
// values, and the sequence numbers First to Last, are taken as used on either side.
// Whether the changes before this one were safe is not asked again.
//
// The error is an [ErrInvalidLayout], an [ErrInvalidID] for a node range that is not in
// its layout, or an [ErrLifetime] if To has no tick left at At.
func (c Change) Check() (Verdict, error) {
	if c.At.IsZero() {
		return Verdict{}, errors.New("snowfence: a change of layout needs the time from which the new layout is used")
	}
	if c.Floor.IsZero() {
		c.Floor = c.At
	}
	eras := append([]Era{{c.From, c.Since, c.Floor}}, c.Past...)
	for _, e := range append([]Era{{Layout: c.To}}, eras...) {
		if e.Layout.Cipher != Plain {
			return Verdict{}, fmt.Errorf("%w: nothing can be proven of encrypted IDs, which can be any number: "+
				"use another namespace and keep its IDs apart", ErrInvalidLayout)
		}
	}
	to, err := newSide(c.To, c.ToNodes)
	if err != nil {
		return Verdict{}, fmt.Errorf("layout changed to: %w", err)
	}
	start := max(to.scheme.layout.tickAtOrAfter(c.At), 0)
	if start > to.scheme.MaxTick() {
		return Verdict{}, fmt.Errorf("%w: the layout changed to ended at %s, before the change at %s",
			ErrLifetime, to.scheme.layout.EndOfLife().Format(time.RFC3339), c.At.UTC().Format(time.RFC3339))
	}
	to.setTicks(start, to.scheme.MaxTick())
	v := Verdict{FirstNew: to.lowest(), LastOld: math.MinInt64}
	nodes := c.FromNodes
	for i, e := range eras {
		from, err := newSide(e.Layout, nodes)
		if err != nil {
			return Verdict{}, fmt.Errorf("layout changed from: %w", err)
		}
		if err := v.compare(from, to, e, i); err != nil {
			return Verdict{}, err
		}
		nodes = NodeRange{}
	}
	return v, nil
}

// compare looks for an ID of to that an era before it can have made, and keeps the lowest
// one of all eras.
func (v *Verdict) compare(from, to *side, e Era, index int) error {
	first, until := int64(0), from.scheme.layout.tickAtOrAfter(e.Until)
	if !e.From.IsZero() {
		first = max(from.scheme.layout.tickAtOrAfter(e.From), 0)
	}
	last := min(until-1, from.scheme.MaxTick())
	if first > last { // it has not made anything
		return nil
	}
	from.setTicks(first, last)
	v.LastOld = max(v.LastOld, from.highest())
	a := &overlap{from: from, to: to}
	if !a.search(63, tight(tightAll)) || v.Collision != nil && uint64(v.Collision.ID) <= a.id {
		return nil
	}
	x := &Collision{ID: ID(a.id), Past: index}
	var err error
	if x.From, err = from.scheme.Decode(x.ID); err != nil {
		return err
	}
	x.To, err = to.scheme.Decode(x.ID)
	v.Collision = x
	return err
}

// side is one layout as a set of IDs: those whose time, node and sequence each lie in an
// interval. Rollback is free.
type side struct {
	scheme *Scheme
	lo, hi [fields]uint64                // bounds of each field
	bits   [64]struct{ field, bit int8 } // what each bit of the ID belongs to, by bit number
}

// Fields of a side; the node is one number, whatever lies between its parts, because its
// bits stand in falling order.
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
			case FieldRollback:
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

// lowest returns the lowest ID of the first tick.
func (d *side) lowest() ID {
	return d.scheme.compose(Parts{
		Tick:     int64(d.lo[sideTime]),
		Node:     int64(d.lo[sideNode]),
		Sequence: int64(d.lo[sideSeq]),
	})
}

// highest returns the highest ID as a signed number.
func (d *side) highest() ID {
	tick := d.hi[sideTime]
	if sign := uint64(1) << (d.scheme.timeBits - 1); d.scheme.layout.Width() == 64 && d.lo[sideTime] < sign {
		tick = min(tick, sign-1) // later ticks have the sign bit
	}
	return d.scheme.compose(Parts{
		Tick:     int64(tick),
		Node:     int64(d.hi[sideNode]),
		Sequence: int64(d.hi[sideSeq]),
		Rollback: 1<<d.scheme.rollBits - 1,
	})
}

// overlap looks for an ID in both sides: an automaton that reads the 64 bits from the
// highest down. What it must remember of the bits it has read is whether each bounded
// field still equals the beginning of its lower and of its upper bound: two flags for
// each of three fields on two sides, so 2^12 states at each of 64 bits, and the search
// visits each at most once.
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

// search reports whether the bits from the given one down can be chosen, zeros first, and
// leaves them in id.
func (o *overlap) search(bit int, s tight) bool {
	if bit < 0 {
		return true
	}
	if o.dead[bit][s] {
		return false
	}
	for v := range uint64(2) {
		next, ok := o.from.step(bit, v, s, 0)
		if ok {
			next, ok = o.to.step(bit, v, next, flagsPerSide)
		}
		if !ok {
			continue
		}
		o.id = o.id&^(1<<bit) | v<<bit
		if o.search(bit-1, next) {
			return true
		}
	}
	o.dead[bit][s] = true
	return false
}

// step reads one bit of an ID with the value v. It returns the next state, or false if
// the ID is not in the side. The side's flags start at the given one.
func (d *side) step(bit int, v uint64, s tight, flags int) (tight, bool) {
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
