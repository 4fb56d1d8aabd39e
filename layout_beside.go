package snowfence

import (
	"fmt"
	"time"
)

// Beside is two layouts that are in use at the same time, in one set of IDs: a
// neighbor that another library makes, or two machines with a slice of one node.
//
// [Beside.Check] decides exactly whether they can meet: at any two times, because
// two epochs can give one number to two years.
type Beside struct {
	A, B Neighbor

	// Until bounds both: neither stamps a tick that starts at this instant or
	// later. Zero means that both go on to the end of their time bits.
	Until time.Time
}

// Neighbor is one of two layouts in use at the same time.
type Neighbor struct {
	Layout Layout
	Nodes  NodeRange // nodes in use; the zero value means all

	// FirstSeq and LastSeq are the slice in use, as in [Grant]. Both 0 mean all
	// numbers up to the layout's last: those below its first too, which the
	// original libraries make after the clock stepped back.
	FirstSeq, LastSeq int64
}

// Check proves that no ID of A can equal one of B, or returns the lowest one that
// can, unsigned; nil is the proof.
//
// The error is an [ErrInvalidLayout], or an [ErrInvalidID] for a wrong node range
// or slice.
func (b Beside) Check() (*Collision, error) {
	var regions [2]Region
	for i, n := range [...]Neighbor{b.A, b.B} {
		r, err := n.region(b.Until)
		if err != nil {
			return nil, fmt.Errorf("layout %c: %w", 'A'+rune(i), err)
		}
		regions[i] = r
	}
	return Meet(regions[0], regions[1])
}

func (n Neighbor) region(until time.Time) (Region, error) {
	if n.Layout.Cipher != Plain {
		return Region{}, fmt.Errorf("%w: %w: keep its IDs apart", ErrInvalidLayout, ErrUnproven)
	}
	s, err := NewScheme(n.Layout)
	if err != nil {
		return Region{}, err
	}
	r := Region{Layout: s.layout, Nodes: n.Nodes, First: n.FirstSeq, Last: n.LastSeq, Until: s.MaxTick() + 1}
	if n.FirstSeq == 0 && n.LastSeq == 0 {
		r.Last = s.layout.Last
	} else if err := checkSlice(s.layout, n.FirstSeq, n.LastSeq); err != nil {
		return Region{}, err
	}
	if !until.IsZero() {
		r.Until = min(r.Until, s.layout.tickAtOrAfter(until))
	}
	return r, nil
}

// checkSlice refuses numbers that a layout does not have, or reserves.
func checkSlice(l Layout, first, last int64) error {
	switch {
	case first > last:
		return fmt.Errorf("%w: slice %d to %d: its last number is below its first", ErrInvalidID, first, last)
	case first < l.First || last > l.Last:
		return fmt.Errorf("%w: slice %d to %d: the layout has sequence numbers %d to %d",
			ErrInvalidID, first, last, l.First, l.Last)
	case last == 0 && l.Last > 0: // a grant of 0 to 0 is the whole sequence
		return fmt.Errorf("%w: slice 0 to 0: a slice with number 0 has at least one number more: "+
			"take 0 to 1, or leave 0 out", ErrInvalidID)
	}
	return nil
}
