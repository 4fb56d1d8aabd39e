package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// next returns the namespace as it will be after
// a change of layout, or why that is refused.
func (c NamespaceChange) next(ctx context.Context, st store.Store, ns Namespace, now time.Time) (Namespace, error) {
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
		return Namespace{}, fmt.Errorf("lease: reading the store's identity: %w", err)
	}
	if id != ns.Identity { // it lost grants, and nobody has raised the floor yet
		floor = max(floor, ns.above(old, now))
	}
	layout := c.Scheme.Layout()
	refuse := func(err error) (Namespace, error) {
		err = fmt.Errorf("lease: namespace %q keeps its layout %s: the change to %s is refused: %w",
			ns.Name, old, layout, err)
		return Namespace{}, marked{err, ErrRefused}
	}
	if old.Equal(layout) && !c.Force {
		err := errors.New("it has this layout with another secret, " +
			"and IDs of two secrets can be equal: use another namespace")
		return refuse(err)
	}
	next := ns
	if err := next.limit(c.MaxTTL, c.MaxSkew, now); err != nil {
		return Namespace{}, err
	}
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
	if ns.Reserved.Backfill > 0 { // each time belongs to the layout of that time
		floor = max(floor, old.TickOf(now)+1, old.TickFrom(time.UnixMilli(ns.ledger.Until)))
	}
	at := old.TimeOf(floor)
	start := max(layout.TickFrom(at), 0)
	if start > c.Scheme.MaxTick() {
		return refuse(fmt.Errorf("%w: it would have no tick left at %s", snowfence.ErrLifetime, at))
	}
	next.Layout, next.Fingerprint, next.Identity = layout.String(), c.Scheme.Fingerprint(), id
	if ns.Identity != id {
		next.rolledBack(now)
	}
	next.Start, next.Floor, next.Since = start, start, ns.Generation+1
	next.end(floor)
	if err := next.begin(layout, c.Force); err != nil {
		return refuse(err)
	}
	if !old.Equal(layout) {
		next.Keys = nil // the numbers of secrets begin anew with the layout
	}
	if next.Keys, _, err = next.rotated(c.Scheme, true); err != nil {
		return refuse(err)
	}
	return next, nil
}
