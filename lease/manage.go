package lease

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// Leases returns the records of all units that were ever leased, in the
// order of the nodes. Ticks are counted in the namespace's layout. Records
// of generations before Namespace.Since are the exception: their floor is
// Namespace.Floor.
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
// holder as [Operator.Release] does. An empty reason lifts the veto; it is
// refused while functions in a database make the node's IDs.
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
		r.Holder, r.Nonce, r.Revision, r.At = "", w.Text(), r.Revision+1, w.Now().UnixMilli()
		if old == "" {
			r.Generation, r.Until, r.From = ns.Generation, ns.Floor, ns.Floor
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
