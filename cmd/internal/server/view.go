package server

import (
	"cmp"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// View is all leases of a namespace at one time. It never changes.
type View struct {
	Namespace scope.Namespace
	Layout    snowfence.Layout
	From, At  time.Time // when reading began and ended
	Leases    []Lease   // by node
	Picture   any       // see Views.Draw

	// Version counts the readings of a namespace that is watched, from 1.
	Version int64

	changed []int64 // the version in which each lease became what it is
}

// Lease is the record of a unit, without an earlier layout's grant, and
// whether it is held.
type Lease struct {
	store.Record
	Held bool
}

// leaseOf returns a record as it was when the reading began.
func (v *View) leaseOf(r store.Record) Lease {
	r = view.Current(r, v.Namespace)
	return Lease{r, r.Held(v.Layout.TickOf(v.From))}
}

// End returns the node after the last one of a lease.
func (v *View) End(l *Lease) int64 { return l.Node + v.Namespace.Unit }

// Message returns a lease as callers see it.
func (v *View) Message(l Lease) *pb.LeaseInfo {
	return view.Lease(l.Record, v.Namespace, v.Layout, v.From)
}

// follow makes the view the next one of a watched namespace.
func (v *View) follow(before *View) {
	v.Version, v.changed = before.Version+1, make([]int64, len(v.Leases))
	at := 0
	for i, l := range v.Leases {
		for at < len(before.Leases) && before.Leases[at].Node < l.Node {
			at++
		}
		if v.changed[i] = v.Version; at < len(before.Leases) && before.Leases[at] == l {
			v.changed[i] = before.changed[at]
		}
	}
}

// newsSince returns the first leases from a node up that became what they
// are after a version: as many as a message of a watch has.
func (v *View) newsSince(version, node int64) (news []Lease) {
	byNode := func(l Lease, node int64) int { return cmp.Compare(l.Node, node) }
	at, _ := slices.BinarySearchFunc(v.Leases, node, byNode)
	for ; at < len(v.Leases) && len(news) < pieceOfWatch; at++ {
		if v.changed[at] > version {
			news = append(news, v.Leases[at])
		}
	}
	return news
}
