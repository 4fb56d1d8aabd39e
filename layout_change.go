package snowfence

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Change is a change of layout: IDs of From exist already, IDs of To are made
// from now on.
//
// [Change.Check] decides exactly whether they can meet. The rules of thumb (an
// older epoch, wider fields) are neither enough nor necessary.
type Change struct {
	From, To Layout

	At time.Time // To stamps no tick that starts before this instant
	// From stamps no tick that starts at this instant or later; zero means At. It
	// is the highest floor of all grants, because IDs may run ahead of the clock.
	Floor time.Time
	Since time.Time // From stamps no tick that starts before this instant; zero means its epoch

	FromNodes, ToNodes NodeRange // nodes in use on either side; the zero value means all

	// FromReserved says that From has IDs with sequence numbers below its first:
	// made by hand, or by snow-drift after the clock stepped back. Such an ID has
	// any tick before Floor, even one before Since.
	FromReserved bool

	// ToReserved says that To makes such numbers too, in ticks from At on: IDs
	// for a time gone by. An original snow-drift is no To of a change, because it
	// would make them in ticks before At; see Beside.
	ToReserved bool

	// Past are the layouts before From. Two safe changes, one after the other,
	// need not be safe together: To can make IDs of a layout older than From.
	Past []Era
}

// Era is a layout while any node made IDs with it.
type Era struct {
	Layout   Layout
	From     time.Time // it stamped no tick that starts before this instant; zero means its epoch
	Until    time.Time // it stamped no tick that starts at this instant or later
	Reserved bool      // as Change.FromReserved
}

// Verdict is what [Change.Check] found.
type Verdict struct {
	// Collision is the lowest ID, unsigned, that both sides can make. nil is the
	// proof that there is none.
	Collision *Collision

	LastOld  ID // highest ID, as a signed number, that From or the layouts before it can have made
	FirstNew ID // lowest ID of To's first tick
}

// Collision is an ID with two meanings: the counter-example to a change.
type Collision struct {
	ID       ID
	From, To Parts
	Past     int // 1 and more: From is of Change.Past[Past-1]; 0: it is of Change.From
}

// Ordered reports whether new IDs sort above all earlier ones, as signed numbers.
// A change without it is safe, but columns sorted by ID are not in the order of
// time. It ignores the day on which To itself turns negative.
func (v Verdict) Ordered() bool { return v.FirstNew > v.LastOld }

// Check proves that To makes no ID that From or a layout before it can have made,
// or finds one. It is exact: it takes all nodes in the ranges, all rollback
// values, and the sequence numbers First to Last as used, and those below First
// where they are said to be. It does not check the changes before this one.
//
// The error is an [ErrInvalidLayout], an [ErrInvalidID] for a wrong node range,
// or an [ErrLifetime] if To has no tick left at At.
func (c Change) Check() (Verdict, error) {
	if c.At.IsZero() {
		return Verdict{}, errors.New("snowfence: a change of layout needs the time from which the new layout is used")
	}
	if c.Floor.IsZero() {
		c.Floor = c.At
	}
	eras := append([]Era{{c.From, c.Since, c.Floor, c.FromReserved}}, c.Past...)
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
	if c.ToReserved {
		to.lo[sideSeq] = 0
	}
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
		if first := from.scheme.layout.First; e.Reserved && first > 0 {
			from.setNumbers(0, first-1)
			e.From = time.Time{} // each ID after a step back has a lower tick than the one before
			if err := v.compare(from, to, e, i); err != nil {
				return Verdict{}, err
			}
		}
	}
	return v, nil
}

// compare looks for an ID of to that an era can have made, and keeps the lowest
// of all eras.
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
	x, err := common(from, to)
	if x == nil || v.Collision != nil && uint64(v.Collision.ID) <= uint64(x.ID) {
		return err
	}
	x.Past = index
	v.Collision = x
	return err
}
