package lease

import (
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// Long is a range of nodes for leases with a longer ttl than the others have. After a restore it
// waits by its own ttl, and the other nodes by theirs.
type Long struct {
	First  int64         `json:"first"`   // this node and all above are in the range
	MaxTTL time.Duration `json:"max_ttl"` // the longest ttl there; 0 where there is no such range
	Floor  int64         `json:"floor"`   // no grant of these nodes starts below; not for options
}

// String says which nodes are in the range, for people.
func (l Long) String() string {
	if l.MaxTTL == 0 {
		return "no long range"
	}
	return fmt.Sprintf("a ttl of at most %v from node %d on", l.MaxTTL, l.First)
}

// isLong reports whether a node is in the long range.
func (ns Namespace) isLong(node int64) bool { return ns.Long.MaxTTL > 0 && node >= ns.Long.First }

// maxTTL returns the longest ttl of a lease of a node.
func (ns Namespace) maxTTL(node int64) time.Duration {
	if ns.isLong(node) {
		return ns.Long.MaxTTL
	}
	return ns.MaxTTL
}

// FloorOf returns the first tick that a grant of a node may have, whatever its record says.
func (ns Namespace) FloorOf(node int64) int64 {
	if ns.isLong(node) {
		return max(ns.Floor, ns.Long.Floor)
	}
	return ns.Floor
}

// raiseOver raises the floor of the range of a node to a tick.
func (ns *Namespace) raiseOver(node, tick int64) {
	if ns.isLong(node) {
		ns.Long.Floor = max(ns.Long.Floor, tick)
	} else {
		ns.Floor = max(ns.Floor, tick)
	}
}

// nodesFor returns the nodes that a lease with a ttl may have, if it names none.
func (ns Namespace) nodesFor(ttl time.Duration) snowfence.NodeRange {
	nodes := ns.Nodes
	switch {
	case ns.Long.MaxTTL == 0:
	case ttl > ns.MaxTTL:
		nodes.From = ns.Long.First
	default:
		nodes.Until = ns.Long.First
	}
	return nodes
}

// long returns a long range as the options change it.
func (o NamespaceOptions) long(was Long) Long {
	switch {
	case o.Long == nil:
		return was
	case o.Long.MaxTTL == 0:
		return Long{}
	}
	return Long{o.Long.First, o.Long.MaxTTL, was.Floor}
}

// floorOver returns the floor of a block with these records. The last one has the highest, because
// the long range is above the other nodes.
func (ns Namespace) floorOver(rs []store.Record) int64 { return ns.FloorOf(rs[len(rs)-1].Node) }
