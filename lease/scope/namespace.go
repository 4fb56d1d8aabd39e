// Package scope says what a namespace of a store allows: which IDs its
// leases are for, and which nodes, ticks and secrets they may have. It has
// the verbs of those who change that: operators ([Namespaces]), and the
// holders of leases and backfills. Nobody else writes the record of a
// namespace, or sees the key that signs its tickets.
//
// It returns the errors of package lease.
package scope

import (
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/move"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// The states of a namespace. Grants are given out in Active ones only.
const (
	Active   = "active"
	Changing = "changing" // its layout is being changed, or it is being deleted
	Deleted  = "deleted"  // a tombstone: the record stays for its floor
)

// Namespace is the scope of uniqueness: which IDs its leases are for, and
// which nodes can be leased. It has a part for each of its users.
type Namespace struct {
	Name       string `json:"-"`
	Generation int64  `json:"-"` // grants of another generation do not count
	Terms
	Origin
	Past
	// Regions hold all IDs that were ever made, and all that can be made
	// now.
	Regions []Region `json:"-"`
	// signs tickets. It is kept beside the rest, so that a program that
	// prints a namespace does not print it
	ticketKey string
	moved     move.Moved
	record    store.Record
}

// Terms are the terms of its leases.
type Terms struct {
	Layout      snowfence.Layout `json:"layout"`
	Fingerprint string           `json:"fingerprint"` // of the scheme
	// Nodes can be leased; the others are for numbers given by hand.
	Nodes snowfence.NodeRange `json:"nodes"`
	// Unit is how many nodes one record stands for, under the first of
	// them: a power of two.
	Unit  int64  `json:"unit"`
	State string `json:"state"`
	// Since is the generation in which the layout or the unit began.
	// Records of earlier ones have ticks of another layout, or other nodes.
	Since int64 `json:"since"`
	Start int64 `json:"start"` // tick with which the layout began
	Floor int64 `json:"floor"` // no grant starts below this tick
	// MaxTTL and MaxSkew bound the ttl of leases and the error of their
	// clocks, in nanoseconds.
	MaxTTL  time.Duration `json:"max_ttl"`
	MaxSkew time.Duration `json:"max_skew"`
	// Keys are for a layout with a key field: the snowfence.Secret.ID of
	// each secret, by number.
	Keys   []string `json:"keys,omitempty"`
	before lowered
}

// Origin is the store of a namespace.
type Origin struct {
	// Identity is the store's, where it has one.
	Identity string `json:"identity"`
	// RolledBack is when a program last noticed that the store may have
	// lost writes, in Unix milliseconds.
	RolledBack int64 `json:"rolled_back,omitempty"`
}

// Past has the sequence numbers below the first of a layout, which are for
// IDs of the past.
type Past struct {
	// Others says that IDs with such numbers were made by hand, or by
	// snow-drift after its clock stepped back. It stays set, also when the
	// namespace is deleted.
	Others bool `json:"others,omitempty"`
	// Backfill is how many of these numbers, from 0 up, backfills use;
	// 0 means that there is none. It may use BackfillNodes: the zero value
	// means all, until the store was rolled back.
	Backfill      int64               `json:"backfill,omitempty"`
	BackfillNodes snowfence.NodeRange `json:"backfill_nodes,omitzero"`
	// BackfillStopped says that the store was rolled back, so that no
	// backfill goes on with these nodes.
	BackfillStopped bool `json:"-"`
	ledger          ledger
}

// Usable is an error if the namespace gives no grants for a scheme.
func (ns Namespace) Usable(s *snowfence.Scheme) error {
	switch {
	case ns.State != Active:
		return ns.notActive()
	case ns.Fingerprint != s.Fingerprint():
		return fault.Mismatch(ns.Name, ns.Fingerprint, s.Fingerprint())
	}
	return nil
}

// whole returns the first node of the unit around a node: its record is the
// unit's.
func (ns Namespace) whole(node int64) int64 { return node &^ (ns.Unit - 1) }

// ID returns the random ID of the namespace, which it keeps when it moves.
func (ns Namespace) ID() string { return ns.moved.ID }

// inUnits is an error unless the unit is one, and the leasable nodes are
// whole units.
func (ns Namespace) inUnits() error {
	switch u := ns.Unit; {
	case u&(u-1) != 0:
		return fault.Invalidf("lease: namespace %q: a unit of %d nodes; it must be a power of two", ns.Name, u)
	case ns.whole(ns.Nodes.From) != ns.Nodes.From || ns.whole(ns.Nodes.Until) != ns.Nodes.Until:
		return fault.Invalidf("lease: namespace %q: the nodes %d to %d are not whole units of %d nodes: choose a "+
			"first node that is a multiple of it, and as many nodes", ns.Name, ns.Nodes.From, ns.Nodes.Until-1, u)
	}
	return nil
}

// FloorOf returns the first tick that a grant from r may have.
func (ns Namespace) FloorOf(r store.Record) int64 {
	f := ns.Floor
	if r.Nonce != "" && r.Generation >= ns.Since {
		f = max(f, r.Until)
	}
	return f
}

func (ns Namespace) notActive() error {
	if ns.State == Deleted {
		return fmt.Errorf("lease: namespace %q: %w (%w): create it again, or use another one", ns.Name,
			fault.ErrNoNamespace, fault.ErrDeleted)
	}
	return fmt.Errorf("lease: namespace %q is being changed: wait, or have the operator finish the change", ns.Name)
}

// nodeCount returns how many nodes a layout has.
func nodeCount(l snowfence.Layout) int64 { return int64(1) << min(l.Bits(snowfence.FieldNode), 62) }

func maxTick(l snowfence.Layout) int64 { return int64(1)<<l.Bits(snowfence.FieldTime) - 1 }

// ledger is the namespace's knowledge of the counts of its backfills.
type ledger struct {
	// Until is a time in Unix milliseconds: no tick that begins then or
	// later was used.
	Until int64 `json:"until,omitempty"`
	// Identity is of the store with the right counts; "" after it was
	// rolled back.
	Identity string `json:"identity,omitempty"`
	// Epoch is how right counts begin. Hours with others are full.
	Epoch string `json:"epoch,omitempty"`
}

// rolledBack notes that the store may have lost acknowledged writes.
func (ns *Namespace) rolledBack(now time.Time) {
	ns.RolledBack = max(ns.RolledBack, now.UnixMilli()+1)
	ns.ledger.Identity = ""
}

// lowered are limits that a namespace had before, until the grants of that
// time have ended.
type lowered struct {
	MaxTTL  time.Duration `json:"max_ttl"`
	MaxSkew time.Duration `json:"max_skew"`
	Ends    int64         `json:"ends"` // in Unix milliseconds
}
