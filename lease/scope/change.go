package scope

import (
	"context"
	"errors"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/answer"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// Change gives a namespace another scheme, if s is not nil, other nodes
// that can be leased, another unit, or other limits. If it has them
// already, nothing changes, and leases go on. The leasable nodes stay the
// same if o names none and the new layout has them.
//
// With another layout, all holders lose their grants, and their leases end.
// Programs with the new scheme start above everything that can have been
// granted. Change first proves that no ID of the new layout can equal one
// of any earlier region of the namespace ([Region]). If it cannot, the
// error matches lease.ErrRefused and says which ID, and the namespace stays
// as it was. Programs with node numbers given by hand do not notice the
// change: stop them first, and start programs with the new layout after the
// time of Namespace.Floor. If ctx ends or the store fails half-way, nothing
// is granted until you call Change again. Each step can be repeated. A
// wrong clock is a lease.ErrSkew.
//
// With another unit, all holders lose their grants, and their leases end:
// open them again. It is refused while a node has a veto or functions,
// because those stand in records of the old unit.
//
// With fewer nodes, all holders lose their grants, and get new ones on the
// nodes that are left. Use a freed number by hand only after the longest
// ttl plus twice the skew. With more nodes, leases go on: this is the last
// step from numbers given by hand to leased ones
// ([NamespaceOptions].Unused).
func (op Operator) Change(
	ctx context.Context, name string, s *snowfence.Scheme, o *NamespaceOptions,
) (Namespace, error) {
	c := change{scheme: s}
	if o != nil {
		c.NamespaceOptions = *o
	}
	switch {
	case op.st == nil:
		return Namespace{}, errors.New("lease: the Store is nil")
	case s == nil && c.Nodes == snowfence.NodeRange{} && c.Unit == 0 && c.MaxTTL == 0 && c.MaxSkew == 0:
		return Namespace{}, fault.Invalidf("lease: namespace %q: the change names no layout, no nodes, no unit and no "+
			"limits: name what is to change", name)
	}
	return c.apply(ctx, op.st, name)
}

func (c change) apply(ctx context.Context, st store.Store, name string) (Namespace, error) {
	for {
		ns, a, err := readNamespace(ctx, st, name)
		switch {
		case err != nil:
			return Namespace{}, err
		case ns.State == Deleted, ns.State == Changing && c.scheme == nil && c.Unit == 0:
			return Namespace{}, ns.notActive()
		}
		// With a wrong clock, floors would be too low, and limits that were
		// lowered end too soon.
		now, err := a.Clock(world.From(ctx), world.From(ctx).Now, ns.MaxSkew)
		switch {
		case err != nil:
			return Namespace{}, err
		case ns.State == Changing: // one that was interrupted
			return c.relayout(ctx, st, name, now)
		case !c.keepsLayout(ns) || !c.keepsUnit(ns):
			// A change that is refused disturbs no lease.
			if _, err := c.next(ctx, st, ns, now); err != nil {
				return Namespace{}, err
			}
			return c.relayout(ctx, st, name, now)
		}
		next, err := c.renode(ns, now)
		if err != nil || next.Nodes == ns.Nodes && next.MaxTTL == ns.MaxTTL && next.MaxSkew == ns.MaxSkew {
			return next, err
		}
		next, err = next.write(ctx, st)
		if !errors.Is(err, store.ErrLost) {
			return next, err
		}
	}
}

// relayout changes the layout. A renewal before freeze is in the floors
// that next reads.
func (c change) relayout(ctx context.Context, st store.Store, name string, now time.Time) (Namespace, error) {
	ns, err := freeze(ctx, st, name, func(Namespace) error { return nil })
	if err != nil {
		return Namespace{}, err
	}
	next, refused := c.next(ctx, st, ns, now)
	if refused != nil {
		if !errors.Is(refused, fault.ErrRefused) && !errors.Is(refused, fault.ErrInvalid) {
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
// It is refused while functions in a database make its IDs
// ([Operator.RecordFunctions]).
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
// each earlier renewal. A later one sees the new generation before it is
// used.
func freeze(ctx context.Context, st store.Store, namespace string, allowed func(Namespace) error) (Namespace, error) {
	return editNamespace(ctx, st, namespace, func(ns *Namespace, _ answer.Answer) (bool, error) {
		if ns.State == Deleted {
			return false, ns.notActive()
		}
		ns.State = Changing
		ns.Generation++
		return true, allowed(*ns)
	})
}
