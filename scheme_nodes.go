package snowfence

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Node joins node parts, from the highest field down: for Twitter's layout,
// Node(datacenter, worker). A single number for several parts is the whole
// node.
func (s *Scheme) Node(parts ...int64) (int64, error) {
	if len(parts) == 1 && len(s.parts) != 1 {
		if parts[0] < 0 || parts[0] >= s.Nodes() {
			return 0, fmt.Errorf("%w: node %d; the layout has nodes 0 to %d", ErrInvalidID, parts[0], s.Nodes()-1)
		}
		return parts[0], nil
	}
	if len(parts) != len(s.parts) {
		return 0, fmt.Errorf("%w: %d node parts given; the layout %s has %d",
			ErrInvalidID, len(parts), s.layout, len(s.parts))
	}
	var node int64
	for i, f := range s.parts {
		if uint64(parts[i]) > f.mask() {
			return 0, fmt.Errorf("%w: %s %d; its %d bits hold 0 to %d",
				ErrInvalidID, f.Name, parts[i], f.Bits, f.mask())
		}
		node = node<<f.Bits | parts[i]
	}
	return node, nil
}

// NodeParts takes a node number apart, in the order of Layout.NodeParts.
func (s *Scheme) NodeParts(node int64) []int64 {
	values := make([]int64, len(s.parts))
	n := uint64(node)
	for i, f := range slices.Backward(s.parts) {
		values[i] = int64(n & f.mask())
		n >>= f.Bits
	}
	return values
}

// NodeRange is a half-open range of node numbers: NodeRange{0, 1} is node 0
// alone. The zero value means all nodes.
type NodeRange struct {
	From, Until int64
}

// NodesWith returns the nodes with the given numbers in the named parts:
// for Twitter's layout, {"datacenter": 3} is its 32 workers. The parts must
// be the highest of the node; otherwise the error names the part in the
// way. No parts means all nodes.
func (s *Scheme) NodesWith(parts map[string]int64) (NodeRange, error) {
	left := maps.Clone(parts)
	var first int64
	free, gap := int(s.nodeBits), ""
	for _, f := range s.parts {
		v, ok := left[f.Name]
		switch {
		case !ok && gap == "":
			gap = f.Name
		case !ok:
		case gap != "":
			return NodeRange{}, fmt.Errorf("snowfence: the nodes with one %s are no range in the layout %s, "+
				"because %s stands above it: give %s too, use a layout with %s first, or lease any node",
				f.Name, s.layout, gap, gap, f.Name)
		case uint64(v) > f.mask():
			return NodeRange{}, fmt.Errorf("snowfence: %s %d; its %d bits hold 0 to %d", f.Name, v, f.Bits, f.mask())
		default:
			free -= f.Bits
			first |= v << free
		}
		delete(left, f.Name)
	}
	if len(left) > 0 {
		return NodeRange{}, fmt.Errorf("snowfence: the node of the layout %s has no part %s",
			s.layout, shorten(slices.Sorted(maps.Keys(left))[0]))
	}
	if free == int(s.nodeBits) {
		return NodeRange{0, s.Nodes()}, nil
	}
	return NodeRange{first, first + 1<<free}, nil
}

// CheckOptions says which IDs [Scheme.Check] accepts. Nil and the zero
// value allow all times and nodes.
type CheckOptions struct {
	Now   time.Time     // no ID is from a later time; the zero time allows any time
	Ahead time.Duration // how far clocks and leads may be ahead of Now
	Nodes NodeRange     // nodes that were ever used, {0, 1} for node 0 alone; an Until of 0 means up to the last one
}

// Check decodes an ID as Decode does. It returns [ErrInvalidID] for an ID
// that no generator can have made: with a later time, a node that was never
// used, or a sequence number above the layout's last. So it finds most
// forged IDs of encrypted layouts. It accepts numbers below the layout's
// first: snow-drift uses them after the clock stepped back, and people use
// them by hand.
func (s *Scheme) Check(id ID, o *CheckOptions) (Parts, error) {
	parts, err := s.Decode(id)
	if err != nil {
		return Parts{}, err
	}
	if o == nil {
		o = &CheckOptions{}
	}
	first, end := o.Nodes.From, o.Nodes.Until
	if end == 0 {
		end = s.Nodes()
	}
	switch l := s.layout; {
	case !o.Now.IsZero() && parts.Tick > l.TickOf(o.Now.Add(o.Ahead)):
		return Parts{}, fmt.Errorf("%w: the time of %d would be %s, in the future",
			ErrInvalidID, int64(id), parts.Time.Format(time.RFC3339))
	case parts.Node < first || parts.Node >= end:
		return Parts{}, fmt.Errorf("%w: %d would be of node %d; used were %d to %d",
			ErrInvalidID, int64(id), parts.Node, first, end-1)
	case parts.Sequence > l.Last:
		return Parts{}, fmt.Errorf("%w: %d would have the sequence number %d; the last one is %d",
			ErrInvalidID, int64(id), parts.Sequence, l.Last)
	}
	return parts, nil
}
