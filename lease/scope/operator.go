package scope

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/answer"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// Operator manages the namespaces of a store and their nodes.
type Operator struct{ st store.Store }

// Namespaces returns the [Operator] of a store. It makes no call to the
// store.
func Namespaces(st store.Store) Operator { return Operator{st} }

// Show returns a namespace, also a deleted one. The error is
// lease.ErrNoNamespace if there is none of that name.
func (op Operator) Show(ctx context.Context, name string) (Namespace, error) {
	ns, _, err := readNamespace(ctx, op.st, name)
	return ns, err
}

// List returns all namespaces of a store
// in the order of their names, also deleted ones, but none that was moved
// away.
func (op Operator) List(ctx context.Context) ([]Namespace, error) {
	heads, _, err := op.st.Heads(ctx)
	if err != nil {
		return nil, fmt.Errorf("lease: listing namespaces: %w", err)
	}
	var out []Namespace
	for _, r := range heads {
		if r.Node != store.NamespaceNode {
			continue
		}
		ns, err := decodeNamespace(r)
		if errors.Is(err, store.ErrMoved) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, ns)
	}
	return out, nil
}

// editNamespace changes the record of a namespace, and writes it if change
// says that there is anything to write. change gets the answer to the read.
func editNamespace(
	ctx context.Context, st store.Store, name string, change func(*Namespace, answer.Answer) (bool, error),
) (Namespace, error) {
	if st == nil {
		return Namespace{}, errors.New("lease: the Store is nil")
	}
	for {
		ns, a, err := readNamespace(ctx, st, name)
		if err != nil {
			return Namespace{}, err
		}
		write, err := change(&ns, a)
		if err != nil {
			return Namespace{}, err
		}
		if !write {
			return ns, nil
		}
		if ns, err = ns.write(ctx, st); !errors.Is(err, store.ErrLost) {
			return ns, err
		}
	}
}

// Confirm accepts a store that was moved on purpose, with all its data and
// while no program used it, or that tells this program less of its identity
// than before. Without it, the next lease sees another identity, and grants
// start above now + the longest ttl + twice the largest skew; or it refuses
// an identity that is less.
func (op Operator) Confirm(ctx context.Context, namespace string) (Namespace, error) {
	return editNamespace(ctx, op.st, namespace, func(ns *Namespace, a answer.Answer) (bool, error) {
		if ns.Identity == a.Identity {
			return false, nil
		}
		ns.rolledBack(world.From(ctx).Now())
		ns.Identity = a.Identity
		return true, nil
	})
}

// Restored tells a namespace that its store has older data again: from a
// backup, a copy, a stale replica or an edit by hand. All leases end.
// Grants then begin above everything that can have been used until now, and
// IDs for the past go on only after [Operator.BackfillNodes]. Call it
// before programs start. It may be repeated, and then they wait longer. A
// wrong clock is a lease.ErrSkew.
func (op Operator) Restored(ctx context.Context, namespace string) (Namespace, error) {
	return editNamespace(ctx, op.st, namespace, func(ns *Namespace, a answer.Answer) (bool, error) {
		if _, err := ns.Identify(a.Identity); err != nil {
			return false, err
		}
		now, err := a.Clock(world.From(ctx), world.From(ctx).Now, ns.MaxSkew)
		if err != nil {
			return false, err
		}
		ns.raise(now, a.Identity)
		ns.Generation++
		return true, nil
	})
}

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
// holder as [Operator.Release] does. An empty reason lifts the veto, also
// of a node that only an earlier layout has; it is refused while functions
// in a database make the node's IDs.
func (op Operator) Veto(ctx context.Context, namespace string, node int64, reason string) (store.Record, error) {
	if !store.Plain(reason) {
		return store.Record{}, fault.Invalidf("lease: the reason %.100q is not UTF-8, or has control characters: "+
			"leave them out", reason)
	}
	return edit(ctx, op.st, namespace, node, func(ns Namespace, r store.Record) (store.Record, error) {
		if q, had := ns.functionsAt(node); reason == "" && had && q.Layout.Equal(ns.Layout) {
			return r, fault.Refusedf("functions in a database make its IDs (%s): drop them there, and retire the node",
				q.Functions.database())
		}
		r.Veto = reason
		return r, nil
	})
}

// edit rewrites the record of a node's unit, without a holder.
//
// Invariant: no change began between the read and the write, so one that
// comes sees this record, and leases read it.
func edit(
	ctx context.Context, st store.Store, namespace string, node int64, change func(Namespace,
		store.Record) (store.Record, error),
) (store.Record, error) {
	fail := func(err error) (store.Record, error) {
		return store.Record{}, fmt.Errorf("lease: node %d of namespace %q: %w", node, namespace, err)
	}
	for {
		ns, err := Namespaces(st).Show(ctx, namespace)
		if err != nil {
			return store.Record{}, err
		}
		if ns.State == Changing {
			return store.Record{}, ns.notActive()
		}
		rs, _, err := st.Get(ctx, []store.Key{{Namespace: namespace, Node: ns.whole(node)}})
		if err != nil {
			return fail(err)
		}
		if n := nodeCount(ns.Layout); node < 0 || node >= n && rs[0].Veto == "" { // an earlier layout's veto can end
			return fail(fault.Invalidf("the layout has nodes 0 to %d", n-1))
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
		_, err = store.Put(ctx, st, store.Write{Old: old, New: r})
		if err == nil { // a change or a move meanwhile may look into another record
			now, _ := Namespaces(st).Show(ctx, namespace) // an error comes again
			if now.Generation == ns.Generation {
				return r, nil
			}
		} else if !errors.Is(err, store.ErrLost) {
			return fail(err)
		}
	}
}
