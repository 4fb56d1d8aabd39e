package snowfence

import (
	"errors"
	"fmt"
	"slices"
)

// ErrUnproven means that [Meet] cannot compare two regions, because one has encrypted IDs, which
// can be any number.
var ErrUnproven = errors.New("nothing can be proven of encrypted IDs, which can be any number")

// Region is a set of IDs: a layout's nodes, sequence numbers and ticks, with any
// rollback value.
type Region struct {
	Layout Layout
	Key    string    // names the secret of an encrypted layout
	Nodes  NodeRange // half-open; the zero value means all

	First, Last int64 // sequence numbers, both included; may be below Layout.First
	From, Until int64 // ticks, half-open; MaxTick+1 while it has no end; empty if From >= Until
}

// RegionOf returns the region of all IDs that nodes of a layout can make, in all of its ticks. It
// includes sequence numbers below Layout.First, which original libraries use after the clock
// stepped back. The zero range means all nodes. It returns the same errors as [Meet].
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

// Meet returns the lowest ID that is in both regions, compared as unsigned numbers. A nil Collision
// and a nil error prove that there is none.
//
// Two regions with the same encrypted layout and secret are compared by their IDs before
// encryption, because encryption keeps different IDs different. The ID it returns is then not
// encrypted. For all other encrypted regions the error is [ErrUnproven]. Other errors are
// [ErrInvalidLayout], and [ErrInvalidID] for nodes, numbers or ticks that the layout does not have.
func Meet(a, b Region) (*Collision, error) {
	if a.Layout.Cipher != Plain || b.Layout.Cipher != Plain {
		if a.Key == "" || a.Key != b.Key || !a.Layout.Equal(b.Layout) {
			return nil, ErrUnproven
		}
		a.Layout, b.Layout = a.Layout.decrypted(), b.Layout.decrypted()
	}
	from, err := a.side()
	if err != nil {
		return nil, err
	}
	to, err := b.side()
	if err != nil {
		return nil, err
	}
	if a.From >= a.Until || b.From >= b.Until {
		return nil, nil
	}
	return common(from, to)
}

// decrypted returns the layout of IDs before encryption, without the number of the secret.
func (l Layout) decrypted() Layout {
	l.Cipher = Plain
	l.Fields = slices.DeleteFunc(slices.Clone(l.Fields), func(f Field) bool { return f.Name == FieldKey })
	return l
}

func (r Region) side() (*side, error) {
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
