package move

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// copied is how many records are written in one go.
const copied = 256

// copyRecords copies all records but the head, as they are, while the
// target has the head waits.
func copyRecords(ctx context.Context, from, to store.Place, waits store.Record) error {
	var some []store.Record
	every := snowfence.NodeRange{From: math.MinInt64, Until: math.MaxInt64}
	for r, err := range store.Records(ctx, from, waits.Namespace, every) {
		if err != nil {
			return fmt.Errorf("listing %s: %w", from.Name, err)
		}
		if r.Key == waits.Key {
			continue
		}
		if some = append(some, r); len(some) == copied {
			if err := put(ctx, to, waits, some); err != nil {
				return err
			}
			some = some[:0]
		}
	}
	return put(ctx, to, waits, some)
}

// put writes the records that differ from the target's.
//
// Invariant: a replaced record was read while the target was closed. If
// another run of the move has opened it since, programs have written, and
// the swap finds another nonce.
func put(ctx context.Context, to store.Place, waits store.Record, rs []store.Record) error {
	if len(rs) == 0 {
		return nil
	}
	keys := make([]store.Key, len(rs))
	for i, r := range rs {
		keys[i] = r.Key
	}
	there, _, err := to.Get(ctx, keys)
	if err != nil {
		return fmt.Errorf("reading %s: %w", to.Name, err)
	}
	if now, _, err := headOf(ctx, to, waits.Key); err != nil || now.Nonce != waits.Nonce {
		return errors.Join(err, fmt.Errorf("%s: %w", to.Name, store.ErrLost))
	}
	var writes []store.Write
	for i, r := range rs {
		if r.Nonce != there[i].Nonce {
			writes = append(writes, store.Write{Old: there[i].Nonce, New: r})
		}
	}
	if len(writes) == 0 {
		return nil
	}
	errs, _, _ := to.Swap(ctx, writes)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("writing %s: %w", to.Name, err)
	}
	return nil
}
