package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence"
)

// ChangeLayout makes a namespace be for IDs of another scheme. All holders lose their grants, and programs of the old scheme end; those of the new
// one start above everything that can have been granted. If ctx ends or the store fails half-way, nothing is granted until ChangeLayout
// is called again: each step can be repeated.
//
// The change is proven before it counts: no ID of the new layout can equal one of the old (snowfence.Change). The error says if one can, and the
// namespace then is as before. force accepts even that: for namespaces of which no ID was kept.
func ChangeLayout(ctx context.Context, st Store, namespace string, to *snowfence.Scheme, o *NamespaceOptions, force bool) (Namespace, error) {
	if err := check(st, namespace, to); err != nil {
		return Namespace{}, err
	}
	first, last, err := o.nodes(to)
	if err != nil {
		return Namespace{}, err
	}
	ns, err := freeze(ctx, st, namespace)
	if err != nil {
		return Namespace{}, err
	}
	old, err := snowfence.ParseLayout(ns.Layout)
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: namespace %q: %w", namespace, err)
	}
	floor, err := highest(ctx, st, ns)
	if err != nil {
		return Namespace{}, err
	}
	layout := to.Layout()
	at := old.TimeOf(floor)
	start := layout.TickOf(at)
	if layout.TimeOf(start).Before(at) {
		start++ // upward
	}
	refused := func() error {
		if start > to.MaxTick() {
			return fmt.Errorf("%w: it would have no tick left at %s", snowfence.ErrLifetime, at)
		}
		if force || old.Equal(layout) && to.Fingerprint() == ns.Fingerprint {
			return nil // the same, under the same key
		}
		v, err := snowfence.Change{From: old, To: layout, At: layout.TimeOf(max(start, 0)), Floor: at}.Check()
		if err == nil && v.Collision != nil {
			err = fmt.Errorf("ID %d can be made by both: as tick %d of node %d, and as tick %d of node %d",
				int64(v.Collision.ID), v.Collision.From.Tick, v.Collision.From.Node, v.Collision.To.Tick, v.Collision.To.Node)
		}
		return err
	}()
	if refused == nil {
		ns.Layout, ns.Fingerprint, ns.First, ns.Last = layout.String(), to.Fingerprint(), first, last
		ns.Floor, ns.Since = max(start, 0), ns.Generation+1
		if !old.Equal(layout) {
			ns.Keys = nil // the numbers of keys begin anew with the layout
		}
	}
	ns.State = Active
	ns.Generation++
	if ns, err = ns.write(ctx, st); err != nil {
		return Namespace{}, err
	}
	if refused != nil {
		return Namespace{}, marked{fmt.Errorf("lease: namespace %q keeps its layout %s: the change to %s is refused: %w", namespace, old, layout, refused), ErrRefused}
	}
	return ns, nil
}

// DeleteNamespace ends a namespace: all holders lose their grants. A tombstone with the floor of its ticks stays, so that a namespace of
// the same name starts above all that was granted.
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

// freeze writes first that nothing is granted any more. A renewal that came before is in the floors that are read afterwards; one that comes later
// sees the new generation before it is used.
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
