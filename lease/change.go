package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// NamespaceChange says how a namespace
// changes. What is nil or zero stays as it is.
type NamespaceChange struct {
	// Scheme is the scheme of its IDs from now on. The leasable
	// nodes stay the same, if the new layout has them.
	Scheme *snowfence.Scheme

	// Nodes are the nodes that can be leased from now on.
	Nodes snowfence.NodeRange

	// Unused is the word that no process uses numbers given by hand any more, and
	// later than the timestamp of every ID that was made with these. It may be an
	// hour after now at most. Grants of the change begin after it, so that a clock that
	// was ahead, or a lead, makes no ID twice. Without it, Nodes that could not be
	// leased are refused, and a change of layout assumes now.
	Unused time.Time

	// Force skips the proof, for namespaces of which nobody kept
	// an ID. The namespace remembers the layout all the same.
	Force bool

	// MaxTTL and MaxSkew are the limits of leases from now on: [NamespaceOptions]. After a raise, a
	// backup from before it has the smaller ones: if you restore it, wait for the larger ones. A
	// lease with a longer ttl goes on, and begins anew with it only if that is allowed.
	MaxTTL, MaxSkew time.Duration
}

// Change gives a namespace another layout, other nodes that can be
// leased, or other limits. If it has them already, nothing changes, and no lease is disturbed.
//
// With another layout all holders lose their grants, and programs of the old
// scheme end. Programs of the new one start above everything that can have been
// granted. First it is proven that no ID of the new layout can equal one of any
// earlier region of the namespace ([Region]). Otherwise the error
// matches [ErrRefused] and says which ID, and the namespace stays as it was. No
// store tells programs that have a number of the old layout by hand: stop them
// before, and start those of the new one after the time of Namespace.Floor. If ctx
// ends or the store fails half-way, nothing is granted until you call
// Change again. Each step can be repeated.
//
// With fewer nodes, all holders lose their grants and get new ones of the
// nodes that are left. With more nodes, leases go on. That is the last step from
// numbers given by hand to leased ones ([NamespaceChange].Unused).
func (op Operator) Change(ctx context.Context, name string, c NamespaceChange) (Namespace, error) {
	switch {
	case op.st == nil:
		return Namespace{}, errors.New("lease: the Store is nil")
	case c.Scheme == nil && c.Nodes == snowfence.NodeRange{} && c.MaxTTL == 0 && c.MaxSkew == 0:
		return Namespace{}, invalidf("lease: namespace %q: the change names no layout, no nodes and no limits: name "+
			"what is to change", name)
	}
	if err := CheckName(name); err != nil {
		return Namespace{}, err
	}
	return c.apply(ctx, op.st, name, world.From(ctx).Now())
}

func (c NamespaceChange) apply(ctx context.Context, st store.Store, name string, now time.Time) (Namespace, error) {
	for {
		ns, err := readNamespace(ctx, st, name)
		switch {
		case err != nil:
			return Namespace{}, err
		case ns.State == Deleted, ns.State == Changing && c.Scheme == nil:
			return Namespace{}, ns.notActive()
		case ns.State == Changing: // one that was interrupted
			return c.relayout(ctx, st, name, now)
		case !c.keepsLayout(ns):
			// A change that is refused disturbs no lease.
			if _, err := c.next(ctx, st, ns, now); err != nil {
				return Namespace{}, err
			}
			return c.relayout(ctx, st, name, now)
		}
		next, err := c.renode(ns, now)
		if err == nil {
			err = next.limit(c.MaxTTL, c.MaxSkew, now)
		}
		if err != nil || next.First == ns.First && next.Last == ns.Last &&
			next.MaxTTL == ns.MaxTTL && next.MaxSkew == ns.MaxSkew {
			return next, err
		}
		next, err = next.write(ctx, st)
		if !errors.Is(err, store.ErrLost) {
			return next, err
		}
	}
}

// keepsLayout reports whether the namespace has the scheme already.
func (c NamespaceChange) keepsLayout(ns Namespace) bool {
	return c.Scheme == nil || c.Scheme.Fingerprint() == ns.Fingerprint
}

// relayout changes the layout. A renewal before freeze is in the floors that next reads.
func (c NamespaceChange) relayout(ctx context.Context, st store.Store, name string, now time.Time) (Namespace, error) {
	ns, err := freeze(ctx, st, name, func(Namespace) error { return nil })
	if err != nil {
		return Namespace{}, err
	}
	next, refused := c.next(ctx, st, ns, now)
	if refused != nil {
		if !errors.Is(refused, ErrRefused) && !errors.Is(refused, ErrInvalid) {
			return Namespace{}, refused // the store does not answer
		}
		next = ns
	}
	next.State = Active
	next.Generation++
	if next, err = next.write(ctx, st); err != nil {
		return Namespace{}, err
	}
	return next, refused
}

// Delete ends a namespace: all holders lose their
// grants. A tombstone keeps the floor of its ticks. So a
// namespace of the same name starts above all that was granted.
// It is refused while functions in a database make its IDs ([Operator.RecordFunctions]).
func (op Operator) Delete(ctx context.Context, namespace string) (Namespace, error) {
	ns, err := freeze(ctx, op.st, namespace, Namespace.withoutFunctions)
	if err != nil {
		return Namespace{}, err
	}
	if ns.Floor, err = highest(ctx, op.st, ns); err != nil {
		return Namespace{}, err
	}
	ns.State = Deleted
	ns.Generation++
	return ns.write(ctx, op.st)
}

// freeze ends all grants first. The floors that are read afterwards include
// each earlier renewal. A later one sees the new generation before it is used.
func freeze(ctx context.Context, st store.Store, namespace string, allowed func(Namespace) error) (Namespace, error) {
	for {
		ns, err := readNamespace(ctx, st, namespace)
		if err != nil {
			return Namespace{}, err
		}
		if ns.State == Deleted {
			return Namespace{}, ns.notActive()
		}
		if err := allowed(ns); err != nil {
			return Namespace{}, err
		}
		ns.State = Changing
		ns.Generation++
		ns, err = ns.write(ctx, st)
		if !errors.Is(err, store.ErrLost) {
			return ns, err
		}
	}
}

// highest returns the tick below which everything that was granted lies.
func highest(ctx context.Context, st store.Store, ns Namespace) (int64, error) {
	rs, err := Namespaces(st).Leases(ctx, ns.Name)
	if err != nil {
		return 0, err
	}
	top := ns.Floor
	for _, r := range rs {
		if r.Generation >= ns.Since {
			top = max(top, r.Until, r.SkipUntil)
		}
	}
	return top, nil
}

// maxWiden is how far after now Unused may be. A slip
// of the keyboard must not stop a namespace for years.
const maxWiden = time.Hour

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
		return 0, fmt.Errorf("unused is %s, more than %v ahead of now: "+
			"wait until then, or correct the time", unused.UTC().Format(time.RFC3339), maxWiden)
	}
	return l.TickOf(unused) + 1, nil
}

// nodes returns the nodes that can be leased after
// a change of layout. Both layouts may be the same.
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
	if c.Unused.IsZero() && !all && (first < ns.First || last > ns.Last) {
		err := fmt.Errorf("lease: namespace %q: its nodes %d to %d can be leased, "+
			"and the others are left to numbers given by hand: "+
			"to lease %d to %d, make sure that no process uses such a number, and ask to widen it",
			ns.Name, ns.First, ns.Last, first, last)
		return 0, 0, marked{err, ErrRefused}
	}
	return first, last, nil
}

// renode returns the namespace with the nodes of a change and its present layout.
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
	if next.First < ns.First || next.Last > ns.Last {
		unused, err := c.afterUnused(layout, now)
		if err != nil {
			return Namespace{}, marked{fmt.Errorf("lease: namespace %q: %w", ns.Name, err), ErrRefused}
		}
		next.Floor = max(ns.Floor, unused)
		for {
			r := next.region(layout, next.Floor)
			if r.Nodes = next.uncovered(next.leasable()); r.empty() {
				break
			}
			if err := next.add(r, false); err != nil {
				return Namespace{}, marked{fmt.Errorf("lease: namespace %q: %w", ns.Name, err), ErrRefused}
			}
		}
	}
	if fewer {
		next.Generation++ // ends leases of nodes that can no longer be leased
	}
	return next, nil
}
