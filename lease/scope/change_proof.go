package scope

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// change is what [Operator.Change] is asked for. A nil scheme stays as it
// is.
type change struct {
	scheme *snowfence.Scheme
	NamespaceOptions
}

// next returns the namespace as it will be after a change of layout, or why
// that is refused. now is the time before it reads.
func (c change) next(ctx context.Context, st store.Store, ns Namespace, now time.Time) (Namespace, error) {
	if c.keepsLayout(ns) && c.keepsUnit(ns) {
		return c.renode(ns, now)
	}
	if !c.keepsUnit(ns) {
		if err := ns.unmarked(ctx, st); err != nil {
			return Namespace{}, err
		}
	}
	old := ns.Layout
	floor, err := highest(ctx, st, ns)
	if err != nil {
		return Namespace{}, err
	}
	_, a, err := readNamespace(ctx, st, ns.Name) // after the records: the store may be another one by now
	if err == nil {
		now, err = a.Clock(world.From(ctx), world.From(ctx).Now, ns.MaxSkew)
	}
	if err != nil {
		return Namespace{}, err
	}
	id := a.Identity
	same, err := ns.Identify(id)
	if err != nil {
		return Namespace{}, err
	}
	if !same { // it lost grants, and the floor is not raised yet
		ns.raise(now, id)
		floor = max(floor, ns.Floor)
	}
	ns.identified(id)
	if c.keepsLayout(ns) { // records of the old unit count no more
		ns.Unit, ns.Floor = c.Unit, floor
		ns.Since = ns.Generation + 1
		return c.renode(ns, now)
	}
	layout := c.scheme.Layout()
	refuse := func(err error) (Namespace, error) {
		return Namespace{}, fault.Refusedf("lease: namespace %q keeps its layout %s: the change to %s is refused: %w",
			ns.Name, old, layout, err)
	}
	if old.Equal(layout) && !c.Force {
		err := errors.New("it has this layout with another secret, " +
			"and IDs of two secrets can be equal: use another namespace")
		return refuse(err)
	}
	next := ns
	if err := next.limit(c.NamespaceOptions, now); err != nil {
		return Namespace{}, err
	}
	if next.Nodes, err = c.nodes(ns, old, layout); err != nil {
		return Namespace{}, err
	}
	next.Layout, next.Unit = layout, cmp.Or(c.Unit, ns.Unit)
	if err := next.inUnits(); err != nil {
		return Namespace{}, err
	}
	if reserves(ns, old) {
		unused, err := c.afterUnused(old, now)
		if err != nil {
			return refuse(err)
		}
		floor = max(floor, unused)
	}
	if ns.Backfill > 0 { // each time belongs to the layout of that time
		floor = max(floor, old.TickOf(now)+1, old.TickFrom(time.UnixMilli(ns.ledger.Until)))
	}
	at := old.TimeOf(floor)
	start := max(layout.TickFrom(at), 0)
	if start > c.scheme.MaxTick() {
		return refuse(fmt.Errorf("%w: it would have no tick left at %s", snowfence.ErrLifetime, at))
	}
	next.Fingerprint = c.scheme.Fingerprint()
	next.Start, next.Floor, next.Since = start, start, ns.Generation+1
	next.end(floor)
	if err := next.begin(layout, c.Force, !c.Unused.IsZero()); err != nil {
		return refuse(err)
	}
	if !old.Equal(layout) {
		next.Keys = nil // the numbers of secrets begin anew with the layout
	}
	if next.Keys, _, err = next.rotated(c.scheme, true); err != nil {
		return refuse(err)
	}
	return next, nil
}

// keepsLayout reports whether the namespace has the scheme already.
func (c change) keepsLayout(ns Namespace) bool {
	return c.scheme == nil || c.scheme.Fingerprint() == ns.Fingerprint
}

// keepsUnit reports whether the namespace has the unit already.
func (c change) keepsUnit(ns Namespace) bool { return cmp.Or(c.Unit, ns.Unit) == ns.Unit }

// unmarked is an error if a record has more than the grant of a node: in
// another unit it would stand for other nodes.
func (ns Namespace) unmarked(ctx context.Context, st store.Store) error {
	for _, r := range ns.Regions {
		if r.Owner == ownerFunctions && !r.Ended && r.Layout.Equal(ns.Layout) {
			return fault.Refusedf("lease: namespace %q keeps its unit: functions in a database have node %d: drop "+
				"them and retire the node first", ns.Name, r.Nodes.From)
		}
	}
	for r, err := range store.Records(ctx, st, ns.Name, snowfence.NodeRange{Until: math.MaxInt64}) {
		if err != nil {
			return fmt.Errorf("lease: listing the leases of namespace %q: %w", ns.Name, err)
		}
		if r.Veto != "" {
			return fault.Refusedf("lease: namespace %q keeps its unit: node %d has a veto (%s): lift it first", ns.Name,
				r.Node, fault.Shown(r.Veto))
		}
	}
	return nil
}

// nodes returns the nodes that can be leased after
// a change of layout. Both layouts may be the same.
func (c change) nodes(ns Namespace, old, to snowfence.Layout) (snowfence.NodeRange, error) {
	has, none, all := ns.Nodes, snowfence.NodeRange{}, !reserves(ns, old)
	switch count := nodeCount(to); {
	case c.Nodes != none:
		if c.Nodes.From < 0 || c.Nodes.From >= c.Nodes.Until || c.Nodes.Until > count {
			return none, fault.Invalidf("lease: namespace %q: nodes %d to %d: the layout has nodes 0 to %d",
				ns.Name, c.Nodes.From, c.Nodes.Until-1, count-1)
		}
	case all:
		return snowfence.NodeRange{Until: count}, nil
	case has.Until > count:
		return none, fault.Invalidf("lease: namespace %q: its nodes %d to %d can be leased, "+
			"and the new layout has nodes 0 to %d: name the leasable nodes of the new layout",
			ns.Name, has.From, has.Until-1, count-1)
	default:
		return has, nil
	}
	if c.Unused.IsZero() && !all && (c.Nodes.From < has.From || c.Nodes.Until > has.Until) {
		return none, fault.Refusedf("lease: namespace %q: its nodes %d to %d can be leased, "+
			"and the others are left to numbers given by hand: "+
			"to lease %d to %d, make sure that no process uses such a number, and then widen the range",
			ns.Name, has.From, has.Until-1, c.Nodes.From, c.Nodes.Until-1)
	}
	return c.Nodes, nil
}

// renode returns the namespace with the limits and the nodes of a change,
// and its present layout.
func (c change) renode(ns Namespace, now time.Time) (Namespace, error) {
	layout, next := ns.Layout, ns
	err := next.limit(c.NamespaceOptions, now)
	if err == nil {
		next.Nodes, err = c.nodes(ns, layout, layout)
	}
	if err == nil {
		err = next.inUnits()
	}
	if err != nil {
		return Namespace{}, err
	}
	fewer := next.Nodes.From > ns.Nodes.From || next.Nodes.Until < ns.Nodes.Until
	if next.Nodes.From < ns.Nodes.From || next.Nodes.Until > ns.Nodes.Until {
		unused, err := c.afterUnused(layout, now)
		if err != nil {
			return Namespace{}, fault.Refusedf("lease: namespace %q: %w", ns.Name, err)
		}
		next.Floor = max(ns.Floor, unused)
		r := next.region(layout, next.Floor)
		for _, r.Nodes = range next.uncovered(next.Nodes, OwnerLeases) {
			if err := next.add(r, false); err != nil {
				return Namespace{}, fault.Refusedf("lease: namespace %q: %w", ns.Name, err)
			}
		}
	}
	if fewer {
		next.Generation++ // ends leases of nodes that can no longer be leased
	}
	return next, nil
}

// afterUnused returns the first tick after all that was made with numbers
// given by hand.
func (c change) afterUnused(l snowfence.Layout, now time.Time) (int64, error) {
	unused := c.Unused
	if unused.IsZero() {
		unused = now
	}
	if unused.After(now.Add(maxWiden)) {
		return 0, fmt.Errorf("the time \"unused\" is %s, more than %v ahead of now: "+
			"wait until then, or correct the time", unused.UTC().Format(time.RFC3339), maxWiden)
	}
	return l.TickOf(unused) + 1, nil
}

// reserves reports whether the namespace leaves nodes to numbers given by
// hand.
func reserves(ns Namespace, l snowfence.Layout) bool {
	return ns.Nodes != snowfence.NodeRange{Until: nodeCount(l)}
}

// highest returns the tick below which everything that was granted lies.
func highest(ctx context.Context, st store.Store, ns Namespace) (int64, error) {
	top := ns.Floor
	for r, err := range store.Records(ctx, st, ns.Name, snowfence.NodeRange{Until: math.MaxInt64}) {
		if err != nil {
			return 0, fmt.Errorf("lease: listing the leases of namespace %q: %w", ns.Name, err)
		}
		if r.Generation >= ns.Since {
			top = max(top, r.Until)
		}
	}
	return top, nil
}

// maxWiden is how far after now Unused may be. A slip
// of the keyboard must not stop a namespace for years.
const maxWiden = time.Hour
