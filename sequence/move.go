package sequence

import (
	"context"
	"fmt"

	"github.com/snowfence/snowfence/internal/move"
	"github.com/snowfence/snowfence/lease/store"
)

// Move moves a sequence, also a deleted one, to another store, with all its
// periods. It closes the sequence first: programs that name the old store
// give out the rest of their ranges, and get a [store.ErrMoved] instead of
// more. Numbers go on after all taken ranges.
//
// If it is interrupted, no store gives numbers until you call it again. The
// other store must not have the name, unless the sequence came from there.
// To undo a move, move the sequence back.
func Move(ctx context.Context, name string, from, to store.Place) error {
	if err := checkName(name); err != nil {
		return err
	}
	adopt := func(_ context.Context, r store.Record, was, is string) (store.Record, error) {
		s, err := decode(name, r)
		if err != nil {
			return r, err
		}
		// Else numbers were lost, and what follows a failover is still to
		// come. An identity with less cannot tell.
		if same, less := store.Compare(was, s.Identity); same && !less {
			s.Identity = is
		}
		r.Data = s.data()
		return r, nil
	}
	if err := move.Run(ctx, from, to, keyOf(name), adopt); err != nil {
		return fmt.Errorf("sequence %q: moving it: %w", name, err)
	}
	return nil
}
