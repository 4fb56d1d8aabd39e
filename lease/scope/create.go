package scope

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// NamespaceOptions says what leases of a namespace may do. Nil and the zero
// value use the defaults.
type NamespaceOptions struct {
	// Nodes can be leased. The zero value means all nodes of the layout.
	// For a deleted namespace that comes back, it means its earlier nodes.
	Nodes snowfence.NodeRange

	// Unit is how many nodes one record stands for: a power of two. A lease
	// takes whole units, and package sublet hands their nodes out from
	// memory. 0 means 1, or the unit that an existing namespace has.
	// Another unit ends all leases, as another layout does.
	Unit int64

	// MaxTTL is the longest ttl of a lease, and MaxSkew how far a clock may
	// be off. After a backup is restored, no IDs are made for MaxTTL and
	// twice MaxSkew. 0 means 15 s, or the value that an existing namespace
	// has. A backup from before these were raised has the smaller values:
	// if you restore it, wait for the larger ones. If they are lowered, a
	// lease with a longer ttl goes on, but cannot be opened again with that
	// ttl; and one whose clock is further off gets no grant any more.
	MaxTTL, MaxSkew time.Duration

	// Unused is for [Operator.Change]. With it the operator states that no
	// process uses numbers given by hand any more. It is a time after the
	// timestamps of all IDs made with these numbers, at most an hour from
	// now. Grants begin after it, so that no ID comes twice, even if a
	// clock was ahead or a process had a lead. Without Unused, Change
	// refuses Nodes that could not be leased before, and a layout that
	// functions in a database leave no room for all numbers given by hand
	// ([Namespace.Uncovered]); another change of layout assumes now.
	Unused time.Time

	// Force makes [Operator.Change] skip the proof, for namespaces without
	// any ID left. The namespace remembers the layout all the same.
	Force bool
}

// Create makes a namespace for IDs of the scheme. If it exists, it must be
// the same, and nothing changes. A deleted namespace comes back with the
// same layout, and its IDs start above its floor; a wrong clock is a
// lease.ErrSkew then. If o names nodes that could not be leased before,
// they count as used by hand until now. A layout past its end is refused.
//
// If the layout has a key field, the namespace remembers from the beginning
// which secret has which key number. It adds secrets that it does not know
// yet: this is how secrets are rotated.
func (op Operator) Create(
	ctx context.Context, name string, s *snowfence.Scheme, o *NamespaceOptions,
) (Namespace, error) {
	if err := fault.Check(op.st, name, s); err != nil {
		return Namespace{}, err
	}
	w, layout := world.From(ctx), s.Layout()
	o = cmp.Or(o, &NamespaceOptions{})
	c := change{NamespaceOptions: NamespaceOptions{Unused: w.Now(), Nodes: o.Nodes}}
	for {
		ns, a, err := readNamespace(ctx, op.st, name)
		switch {
		case errors.Is(err, fault.ErrNoNamespace):
			terms := Terms{Since: 1, Nodes: snowfence.NodeRange{Until: nodeCount(layout)}, Unit: cmp.Or(o.Unit, 1)}
			ns = Namespace{
				Name: name, Terms: terms, ticketKey: w.Text(),
				record: store.Record{Key: store.Key{Namespace: name, Node: store.NamespaceNode}},
			}
		case err != nil:
			return Namespace{}, err
		case ns.Fingerprint != s.Fingerprint():
			return Namespace{}, fault.Mismatch(name, ns.Fingerprint, s.Fingerprint())
		case ns.State == Changing:
			return Namespace{}, ns.notActive()
		case ns.State == Deleted: // what its nodes made has to be over
			if c.Unused, err = a.Clock(w, w.Now, ns.MaxSkew); err != nil {
				return Namespace{}, err
			}
		}
		ns.Layout, ns.Fingerprint = layout, s.Fingerprint()
		if ns.record.Nonce == "" || ns.State == Deleted {
			c.MaxTTL, c.MaxSkew = cmp.Or(o.MaxTTL, ns.MaxTTL, DefaultTTL), cmp.Or(o.MaxSkew, ns.MaxSkew, DefaultTTL)
		}
		if ns.Regions == nil {
			if err := ns.begin(layout, false, false); err != nil {
				return Namespace{}, fmt.Errorf("lease: creating namespace %q: %w", name, err)
			}
		}
		next, err := c.renode(ns, c.Unused)
		switch {
		case err != nil:
			return Namespace{}, err
		case ns.State == Active && ns.Nodes != next.Nodes:
			err := fmt.Errorf("lease: namespace %q exists with the leasable nodes %d to %d, not %d to %d",
				name, ns.Nodes.From, ns.Nodes.Until-1, next.Nodes.From, next.Nodes.Until-1)
			return Namespace{}, fault.Mark(err, fault.ErrExists)
		case cmp.Or(o.Unit, ns.Unit) != ns.Unit:
			err := fmt.Errorf("lease: namespace %q exists with a unit of %d nodes, not %d: change the unit",
				name, ns.Unit, o.Unit)
			return Namespace{}, fault.Mark(err, fault.ErrExists)
		case ns.State == Active && (cmp.Or(o.MaxTTL, ns.MaxTTL) != ns.MaxTTL || cmp.Or(o.MaxSkew,
			ns.MaxSkew) != ns.MaxSkew):
			err := fmt.Errorf("lease: namespace %q exists with a longest ttl of %v and a largest skew of %v: "+
				"change these limits", name, ns.MaxTTL, ns.MaxSkew)
			return Namespace{}, fault.Mark(err, fault.ErrExists)
		}
		keys, added, err := ns.rotated(s, true)
		switch {
		case err != nil:
			return Namespace{}, err
		case ns.State == Active && !added:
			return ns, nil
		case ns.State == Active: // a secret that it did not know
			ns.Keys = keys
			if ns, err = ns.write(ctx, op.st); !errors.Is(err, store.ErrLost) {
				return ns, err
			}
			continue
		case layout.TickOf(c.Unused) > s.MaxTick():
			return Namespace{}, fault.Invalidf("lease: namespace %q: the time of the layout ran out on %v: "+
				"no program could make an ID (%w)",
				name, layout.TimeOf(s.MaxTick()).Format(time.RFC3339), snowfence.ErrLifetime)
		}
		next.Generation, next.State, next.Keys = ns.Generation+1, Active, keys
		ns = next
		if ns.record.Nonce == "" {
			ns.Identity = a.Identity
		}
		// A namespace that comes back keeps the identity of its earlier
		// store. If the store is another one by now, the first lease raises
		// the floor.
		if ns, err = ns.write(ctx, op.st); !errors.Is(err, store.ErrLost) {
			return ns, err
		}
	}
}
