package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
)

// NamespaceChange says what becomes of a namespace. What is nil or zero stays as it is.
type NamespaceChange struct {
	// Scheme is that of its IDs from now on. The nodes that can be leased stay the same
	// where the new layout has them.
	Scheme *snowfence.Scheme

	// Nodes are those that can be leased from now on.
	Nodes snowfence.NodeRange

	// Widen says that Nodes has numbers that could not be leased, and that no process
	// uses these of its own accord any more. Without it such a change is refused.
	Widen bool

	// Unused is a time later than the timestamp of every ID that was made outside of
	// leases, with numbers given by hand; zero means now. It may lie an hour after now at
	// most. What begins with the change begins after it.
	Unused time.Time

	// Force skips the proof: for namespaces of which no ID was kept. What they made is
	// remembered all the same.
	Force bool

	grow bool // takes no nodes away
}

// ChangeNamespace gives a namespace another layout, or other nodes that can be leased.
// What is so already is not changed, and nobody is disturbed.
//
// With another layout all holders lose their grants, and programs of the old scheme end;
// those of the new one start above everything that can have been granted. It is proven
// first that no ID of the new layout can equal one of any layout that the namespace has
// had (snowfence.Change). Otherwise the error matches [ErrRefused] and says which ID, and
// the namespace stays as it was. Stop programs that have a number of the old layout by
// hand before, because no store tells them, and start those of the new one after the time
// of Namespace.Floor. If ctx ends or the store fails half-way, nothing is granted until
// ChangeNamespace is called again: each step can be repeated.
//
// With fewer nodes, all holders lose their grants and get new ones of those that are
// left. With more of them, leases go on; see [WidenNamespace].
func ChangeNamespace(ctx context.Context, st Store, name string, c NamespaceChange) (Namespace, error) {
	switch {
	case st == nil:
		return Namespace{}, errors.New("lease: the Store is nil")
	case c.Scheme == nil && c.Nodes == snowfence.NodeRange{}:
		return Namespace{}, invalidf("lease: namespace %q: the change names neither a layout nor nodes: name "+
			"what is to change", name)
	}
	if err := CheckName(name); err != nil {
		return Namespace{}, err
	}
	return c.apply(ctx, st, name, world.From(ctx).Now())
}

func (c NamespaceChange) apply(ctx context.Context, st Store, name string, now time.Time) (Namespace, error) {
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
			// Whoever is refused disturbs nobody.
			if _, err := c.next(ctx, st, ns, now); err != nil {
				return Namespace{}, err
			}
			return c.relayout(ctx, st, name, now)
		}
		next, err := c.renode(ns, now)
		if err != nil || next.First == ns.First && next.Last == ns.Last {
			return next, err
		}
		next, err = next.write(ctx, st)
		if !errors.Is(err, ErrLost) {
			return next, err
		}
	}
}

// keepsLayout reports whether the namespace has the scheme already.
func (c NamespaceChange) keepsLayout(ns Namespace) bool {
	return c.Scheme == nil || c.Scheme.Fingerprint() == ns.Fingerprint
}

// relayout carries out a change of layout. A renewal that came before freeze is in the
// floors that next reads.
func (c NamespaceChange) relayout(ctx context.Context, st Store, name string, now time.Time) (Namespace, error) {
	ns, err := freeze(ctx, st, name)
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

// next returns the namespace as it will be after a change of layout, or why that is refused.
func (c NamespaceChange) next(ctx context.Context, st Store, ns Namespace, now time.Time) (Namespace, error) {
	if c.keepsLayout(ns) {
		return c.renode(ns, now)
	}
	old, err := snowfence.ParseLayout(ns.Layout)
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	}
	floor, err := highest(ctx, st, ns)
	if err != nil {
		return Namespace{}, err
	}
	id, err := st.Identity(ctx, ns.Name)
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: asking the store who it is: %w", err)
	}
	if id != ns.Identity { // it lost grants, and nobody has raised the floor yet
		floor = max(floor, old.TickOf(now.Add(2*max(ns.LongestTTL, usualReach)))+1)
	}
	layout := c.Scheme.Layout()
	refuse := func(err error) (Namespace, error) {
		err = fmt.Errorf("lease: namespace %q keeps its layout %s: the change to %s is refused: %w",
			ns.Name, old, layout, err)
		return Namespace{}, marked{err, ErrRefused}
	}
	if old.Equal(layout) && !c.Force {
		err := errors.New("it has this layout with another key, " +
			"and an ID under one key can equal one under another: use another namespace")
		return refuse(err)
	}
	next := ns
	if next.First, next.Last, err = c.nodes(ns, old, layout); err != nil {
		return Namespace{}, err
	}
	if reserves(ns, old) {
		unused, err := c.afterUnused(old, now)
		if err != nil {
			return refuse(err)
		}
		floor = max(floor, unused)
	}
	at := old.TimeOf(floor)
	start := layout.TickOf(at)
	if layout.TimeOf(start).Before(at) {
		start++ // upward
	}
	start = max(start, 0)
	if start > c.Scheme.MaxTick() {
		return refuse(fmt.Errorf("%w: it would have no tick left at %s", snowfence.ErrLifetime, at))
	}
	if !c.Force {
		if err := ns.prove(layout, start, floor); err != nil {
			return refuse(err)
		}
	}
	if ns.Past != nil || ns.Since == 1 {
		next.Past = remembered(ns.Past, ns.present(floor))
	}
	if err := fits(next.Past); err != nil {
		return refuse(err)
	}
	next.Layout, next.Fingerprint, next.Identity = layout.String(), c.Scheme.Fingerprint(), id
	next.Start, next.Floor, next.Since = start, start, ns.Generation+1
	if !old.Equal(layout) {
		next.Keys = nil // the numbers of keys begin anew with the layout
	}
	if next.Keys, _, err = next.rotated(c.Scheme, true); err != nil {
		return refuse(err)
	}
	return next, nil
}

// DeleteNamespace ends a namespace: all holders lose their grants. A tombstone with the
// floor of its ticks stays, so that a namespace of the same name starts above all that
// was granted.
func DeleteNamespace(ctx context.Context, st Store, namespace string) (Namespace, error) {
	ns, err := freeze(ctx, st, namespace)
	if err != nil {
		return Namespace{}, err
	}
	if ns.Floor, err = highest(ctx, st, ns); err != nil {
		return Namespace{}, err
	}
	ns.State = Deleted
	ns.Generation++
	return ns.write(ctx, st)
}

// freeze writes first that nothing is granted any more. A renewal that came before is in
// the floors that are read afterwards; one that comes later sees the new generation
// before it is used.
func freeze(ctx context.Context, st Store, namespace string) (Namespace, error) {
	for {
		ns, err := readNamespace(ctx, st, namespace)
		if err != nil {
			return Namespace{}, err
		}
		if ns.State == Deleted {
			return Namespace{}, ns.notActive()
		}
		ns.State = Changing
		ns.Generation++
		ns, err = ns.write(ctx, st)
		if !errors.Is(err, ErrLost) {
			return ns, err
		}
	}
}

// highest returns the tick below which everything that was granted lies.
func highest(ctx context.Context, st Store, ns Namespace) (int64, error) {
	rs, err := ListLeases(ctx, st, ns.Name)
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
