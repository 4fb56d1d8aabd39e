package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// Operator manages the namespaces of a store and their nodes.
type Operator struct{ st store.Store }

// Namespaces returns the [Operator] of a store. It makes no call to the
// store.
func Namespaces(st store.Store) Operator { return Operator{st} }

// Show returns a namespace, also a deleted one. The error is
// [ErrNoNamespace] if there is none of that name.
func (op Operator) Show(ctx context.Context, name string) (Namespace, error) {
	return readNamespace(ctx, op.st, name)
}

// List returns all namespaces of a store
// in the order of their names, also deleted ones, but none that was moved
// away.
func (op Operator) List(ctx context.Context) ([]Namespace, error) {
	heads, err := op.st.Heads(ctx)
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

// editNamespace changes the record of a namespace, and
// writes it if change says that there is anything to write.
func editNamespace(
	ctx context.Context, st store.Store, name string, change func(*Namespace) (bool, error),
) (Namespace, error) {
	if st == nil {
		return Namespace{}, errors.New("lease: the Store is nil")
	}
	for {
		ns, err := readNamespace(ctx, st, name)
		if err != nil {
			return Namespace{}, err
		}
		write, err := change(&ns)
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
	return editNamespace(ctx, op.st, namespace, func(ns *Namespace) (bool, error) {
		id, err := op.st.Identity(ctx, namespace)
		if err != nil {
			return false, fmt.Errorf("lease: reading the store's identity: %w", err)
		}
		if ns.Identity == id {
			return false, nil
		}
		ns.rolledBack(world.From(ctx).Now())
		ns.Identity = id
		return true, nil
	})
}

// Restored tells a namespace that its store has older data again: from a
// backup, a copy, a stale replica or an edit by hand. All leases end.
// Grants then begin above everything that can have been used until now, and
// IDs for the past go on only after [Operator.BackfillNodes]. Call it
// before programs start. It may be repeated, and then they wait longer. A
// wrong clock is an [ErrSkew].
func (op Operator) Restored(ctx context.Context, namespace string) (Namespace, error) {
	return editNamespace(ctx, op.st, namespace, func(ns *Namespace) (bool, error) {
		id, _, err := ns.identify(ctx, op.st)
		if err != nil {
			return false, err
		}
		now, err := checkedClock(ctx, op.st, world.From(ctx).Now, ns.MaxSkew)
		if err != nil {
			return false, err
		}
		ns.raise(ns.Layout, now, id)
		ns.Generation++
		return true, nil
	})
}
