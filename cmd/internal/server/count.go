package server

import (
	"context"
	"time"
)

// NodeCount is how many nodes of a namespace are taken, of those that can
// be leased.
type NodeCount struct {
	// Held or vetoed. Both leave out the reserved range: programs lease its
	// nodes by number only. An agent counts the nodes of its units.
	Held, Leasable int64
	// Leases in the store and subleases of this server, counted by the
	// token that the label names.
	Owners map[string]int64
	At     time.Time
}

// CountNodes asks the store for all nodes of a namespace, and counts those
// that are held.
func (s *Views) CountNodes(ctx context.Context, namespace string) (NodeCount, error) {
	v, err := s.Read(ctx, namespace)
	if err != nil {
		return NodeCount{}, err
	}
	first, last := v.Namespace.Nodes.From, v.Namespace.Nodes.Until-1
	n := NodeCount{Leasable: last - first + 1, Owners: map[string]int64{}, At: v.At}
	for i := range v.Leases {
		l := &v.Leases[i]
		nodes := v.End(l) - l.Node
		if l.Held {
			n.Owners[OwnerOf(l.Label)] += nodes
		}
		if (l.Held || l.Veto != "") && l.Node >= first && l.Node <= last {
			n.Held += nodes
		}
	}
	if sp := (*s.spaces.ready.Load())[namespace]; sp != nil { // what is sublet is not in the store
		sp.lessor.Held(func(label string) bool { n.Owners[OwnerOf(label)]++; return true })
		if s.core.opts.Unit != nil {
			n.Held, n.Leasable = sp.Sublet()
		}
	}
	return n, nil
}

// CountPause is how long to wait for the next count: at least every, and so
// long that counts take a 50th of the time at most. A list of 131,072 nodes
// is long.
func CountPause(every, took time.Duration) time.Duration { return max(every, 50*took) }
