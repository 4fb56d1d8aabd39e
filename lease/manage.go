package lease

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// Leases returns the records of all units that were ever leased, in the order of the nodes. Ticks
// are counted in the namespace's layout. Records of generations before Namespace.Since are the
// exception: their floor is Namespace.Floor.
func (op Operator) Leases(ctx context.Context, namespace string) ([]store.Record, error) {
	var out []store.Record
	nodes := snowfence.NodeRange{Until: math.MaxInt64}
	for r, err := range store.Records(ctx, op.st, namespace, nodes) {
		if err != nil {
			return nil, fmt.Errorf("lease: listing the leases of namespace %q: %w", namespace, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// Release clears the holder of a node's unit and leaves its floor alone. A
// living holder is sealed at its next renewal and heals itself with another
// grant. Granted ticks stay granted: the next holder starts above them.
func (op Operator) Release(ctx context.Context, namespace string, node int64) (store.Record, error) {
	return edit(ctx, op.st, namespace, node, func(_ Namespace, r store.Record) (store.Record, error) { return r, nil })
}

// Veto keeps a node's unit from being leased, and evicts its
// holder as [Operator.Release] does. An empty reason lifts the veto; it is refused
// while functions in a database make the node's IDs.
func (op Operator) Veto(ctx context.Context, namespace string, node int64, reason string) (store.Record, error) {
	if !store.Plain(reason) {
		return store.Record{}, invalidf("lease: the reason %.100q is not UTF-8, or has control characters: leave them "+
			"out", reason)
	}
	return edit(ctx, op.st, namespace, node, func(ns Namespace, r store.Record) (store.Record, error) {
		if q, had := ns.functionsAt(node); reason == "" && had && q.Layout.Equal(ns.Layout) {
			return r, refusedf("functions in a database make its IDs (%s): drop them there, and retire the node",
				q.Functions.database())
		}
		r.Veto = reason
		return r, nil
	})
}

// Restore is for a node whose unit's floor lies far ahead, because a holder's clock was. It
// evicts that holder, and sets the floor to where it was before. New grants end before the ticks of
// that holder, and go on after them when that time comes. It fails unless the ticks in between were
// provably never granted.
func (op Operator) Restore(
	ctx context.Context, namespace string, node int64, now time.Time,
) (store.Record, error) {
	return edit(ctx, op.st, namespace, node, func(ns Namespace, r store.Record) (store.Record, error) {
		l := ns.Layout
		tick := l.TickOf(now)
		switch {
		case r.Nonce == "":
			return r, errors.New("it was never leased")
		case r.Generation < ns.Since:
			return r, errors.New("it was not leased since the layout was changed, so there is nothing to restore")
		case r.Until <= tick:
			if r.Veto != "" {
				return r, fmt.Errorf("there is nothing to restore, and it stays vetoed: %s", shown(r.Veto))
			}
			return r, fmt.Errorf("there is nothing to restore: it can be leased now, and its next IDs begin above %s",
				l.TimeOf(r.Until).Format(time.RFC3339))
		case r.From <= tick:
			return r, fmt.Errorf("ticks from %s on were granted without a gap, so no tick is provably unused: "+
				"it can be leased from %s on",
				l.TimeOf(r.From), l.TimeOf(r.Until))
		case r.PrevUntil >= r.From:
			return r, errors.New("no ticks below its grant were skipped, so there is nothing to restore")
		}
		back, ahead := r.PrevUntil, r.From
		if r.SkipUntil > back { // it was restored before, and that range is not below the floor yet
			switch {
			case r.From == r.SkipUntil:
				ahead = r.SkipFrom // the two ranges are one
			case r.SkipUntil > tick:
				return r, fmt.Errorf("it was restored before and %s to %s is still ahead: "+
					"only one skipped range can be kept",
					l.TimeOf(r.SkipFrom), l.TimeOf(r.SkipUntil))
			default:
				back = r.SkipUntil
			}
		}
		r.SkipFrom, r.SkipUntil = ahead, r.Until
		r.Until, r.From = back, back
		return r, nil
	})
}

// edit rewrites the record of a node's unit, without a holder.
func edit(
	ctx context.Context, st store.Store, namespace string, node int64, change func(Namespace,
		store.Record) (store.Record, error),
) (store.Record, error) {
	fail := func(err error) (store.Record, error) {
		return store.Record{}, fmt.Errorf("lease: node %d of namespace %q: %w", node, namespace, err)
	}
	for {
		ns, err := readNamespace(ctx, st, namespace)
		if err != nil {
			return store.Record{}, err
		}
		if node < 0 || node >= nodeCount(ns.Layout) {
			return fail(fmt.Errorf("the layout %s has no such node", ns.Layout))
		}
		rs, err := st.Get(ctx, []store.Key{{Namespace: namespace, Node: ns.whole(node)}})
		if err != nil {
			return fail(err)
		}
		r, err := change(ns, rs[0])
		if err != nil {
			return fail(err)
		}
		if r.Nonce == "" && r.Veto == "" {
			return r, nil // never leased
		}
		old := rs[0].Nonce
		w := world.From(ctx)
		r = vacated(w, r, w.Text())
		if old == "" {
			r.Generation, r.Until, r.From, r.PrevUntil = ns.Generation, ns.Floor, ns.Floor, ns.Floor
		}
		err = st.Swap(ctx, []store.Write{{Old: old, New: r}})[0]
		if err == nil {
			return r, nil
		}
		if !errors.Is(err, store.ErrLost) {
			return fail(err)
		}
	}
}
