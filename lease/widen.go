package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
)

// maxWiden is how far ahead of now the end of numbers given by hand may be said to be: a
// slip of the keyboard must not stop a namespace for years.
const maxWiden = time.Hour

// WidenNamespace makes more nodes leasable: a range that includes all that are leasable
// already. It is the last step from numbers given by hand to leased ones, when no process
// uses the numbers of its own accord any more. Leases that are held go on.
//
// unused is a time later than the timestamp of every ID that was made with these numbers
// outside of leases; the zero time means now. No grant that is acquired from now on
// starts before it, so that a clock that was ahead, or a lead, makes no ID twice. It may
// lie an hour after now at most. To take nodes away from leases, veto them, or use
// [ChangeNamespace].
func WidenNamespace(
	ctx context.Context, st Store, name string, nodes snowfence.NodeRange, unused time.Time,
) (Namespace, error) {
	c := NamespaceChange{Nodes: nodes, Widen: true, Unused: unused, grow: true}
	return c.apply(ctx, st, name, world.From(ctx).Now())
}

// reserves reports whether the namespace leaves nodes to numbers given by hand.
func reserves(ns Namespace, l snowfence.Layout) bool { return ns.First > 0 || ns.Last < nodeCount(l)-1 }

// nodeCount returns how many nodes a layout has.
func nodeCount(l snowfence.Layout) int64 { return int64(1) << min(l.Bits(snowfence.FieldNode), 62) }

// afterUnused returns the first tick after all that was made with numbers given by hand.
func (c NamespaceChange) afterUnused(l snowfence.Layout, now time.Time) (int64, error) {
	unused := c.Unused
	if unused.IsZero() {
		unused = now
	}
	if unused.After(now.Add(maxWiden)) {
		return 0, fmt.Errorf("the numbers are said to be used up to %s, which is more than %v ahead: "+
			"wait until then, or correct the time", unused.UTC().Format(time.RFC3339), maxWiden)
	}
	return l.TickOf(unused) + 1, nil
}

// nodes returns the nodes that can be leased after a change from one layout to another,
// which may be the same.
func (c NamespaceChange) nodes(ns Namespace, old, to snowfence.Layout) (first, last int64, err error) {
	all := !reserves(ns, old)
	switch count := nodeCount(to); {
	case c.Nodes != snowfence.NodeRange{}:
		first, last = c.Nodes.From, c.Nodes.Until-1
		if first < 0 || first > last || last >= count {
			return 0, 0, invalidf("lease: namespace %q: nodes %d to %d: the layout has nodes 0 to %d",
				ns.Name, first, last, count-1)
		}
	case all:
		return 0, count - 1, nil
	case ns.Last >= count:
		return 0, 0, invalidf("lease: namespace %q: its nodes %d to %d can be leased, "+
			"and the new layout has nodes 0 to %d: say which can be leased then",
			ns.Name, ns.First, ns.Last, count-1)
	default:
		return ns.First, ns.Last, nil
	}
	if !c.Widen && !all && (first < ns.First || last > ns.Last) {
		err := fmt.Errorf("lease: namespace %q: its nodes %d to %d can be leased, "+
			"and the others are left to numbers given by hand: "+
			"to lease %d to %d, make sure that no process uses such a number, and ask to widen it",
			ns.Name, ns.First, ns.Last, first, last)
		return 0, 0, marked{err, ErrRefused}
	}
	return first, last, nil
}

// renode returns the namespace with the nodes of a change and the layout that it has.
func (c NamespaceChange) renode(ns Namespace, now time.Time) (Namespace, error) {
	layout, err := snowfence.ParseLayout(ns.Layout)
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	}
	next := ns
	if next.First, next.Last, err = c.nodes(ns, layout, layout); err != nil {
		return Namespace{}, err
	}
	fewer := next.First > ns.First || next.Last < ns.Last
	if fewer && c.grow {
		err := fmt.Errorf("lease: namespace %q: its leasable nodes are %d to %d, "+
			"and %d to %d would take some away: veto those instead",
			ns.Name, ns.First, ns.Last, next.First, next.Last)
		return Namespace{}, marked{err, ErrRefused}
	}
	if next.First < ns.First || next.Last > ns.Last {
		unused, err := c.afterUnused(layout, now)
		if err != nil {
			return Namespace{}, marked{fmt.Errorf("lease: namespace %q: %w", ns.Name, err), ErrRefused}
		}
		next.Floor = max(ns.Floor, unused)
	}
	if fewer {
		next.Generation++ // who holds a node that can no longer be leased gives it up
	}
	return next, nil
}
