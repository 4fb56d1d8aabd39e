package scope

import (
	"context"
	"fmt"

	"github.com/snowfence/snowfence/internal/move"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/answer"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// Move moves a namespace, also a deleted one, to another store: its
// layouts, regions, nodes and counts for the past. It closes the namespace
// first, so all leases there end with a [store.ErrMoved], and no program
// that names the old store gets a grant any more. Grants of the other store
// begin above all that was granted.
//
// If it is interrupted, no store gives grants until you call it again. The
// other store must not have the name, unless the namespace came from there.
// To undo a move, move the namespace back.
func Move(ctx context.Context, name string, from, to store.Place) error {
	head := store.Key{Namespace: name, Node: store.NamespaceNode}
	if err := fault.CheckName(name); err != nil {
		return err
	}
	adopt := func(ctx context.Context, r store.Record, was, is string) (store.Record, error) {
		ns, err := ReadNamespace(from, r)
		if err != nil {
			return r, err
		}
		// Grants were lost, and no program has raised the floor yet. An
		// identity with less cannot tell.
		if same, less := store.Compare(was, ns.Identity); !same || less {
			_, a, err := answer.Read(ctx, world.From(ctx), from, head)
			if err != nil {
				return r, fmt.Errorf("%s: asking for its time: %w", from.Name, err)
			}
			now, err := a.Clock(world.From(ctx), world.From(ctx).Now, ns.MaxSkew)
			if err != nil {
				return r, err
			}
			ns.raise(now, is)
		}
		ns.identified(is)
		return ns.encode()
	}
	if err := move.Run(ctx, from, to, head, adopt); err != nil {
		return fmt.Errorf("lease: moving namespace %q: %w", name, err)
	}
	return nil
}
