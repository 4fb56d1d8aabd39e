package server

import (
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

	version int64
	changes []Lease // those that were not the same in the view before
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

// End returns the node after those that a lease stands for.
func (v *View) End(l *Lease) int64 { return l.Node + v.Namespace.Unit }

// Message returns a lease as callers see it.
func (v *View) Message(l Lease) *pb.LeaseInfo {
	return view.Lease(l.Record, v.Namespace, v.Layout, v.From)
}

// newsSince returns the leases that are not the same in an earlier view;
// all of them where there is none.
func (v *View) newsSince(earlier *View) (news []Lease) {
	switch {
	case earlier == nil:
		return v.Leases
	case v.changes != nil && earlier.version == v.version-1:
		return v.changes
	}
	news = []Lease{}
	old := earlier.Leases
	for _, l := range v.Leases {
		for len(old) > 0 && old[0].Node < l.Node {
			old = old[1:]
		}
		if len(old) == 0 || old[0] != l {
			news = append(news, l)
		}
	}
	return news
}
