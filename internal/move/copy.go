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

// copyRecords copies all records but the head, as they are.
func copyRecords(ctx context.Context, from, to store.Place, head store.Key) error {
	var some []store.Record
	every := snowfence.NodeRange{From: math.MinInt64, Until: math.MaxInt64}
	for r, err := range store.Records(ctx, from, head.Namespace, every) {
		if err != nil {
			return fmt.Errorf("listing %s: %w", from.Name, err)
		}
		if r.Key == head {
			continue
		}
		if some = append(some, r); len(some) == copied {
			if err := put(ctx, to, some); err != nil {
				return err
			}
			some = some[:0]
		}
	}
	return put(ctx, to, some)
}

// put writes records that differ from those that are there.
func put(ctx context.Context, to store.Place, rs []store.Record) error {
	if len(rs) == 0 {
		return nil
	}
	keys := make([]store.Key, len(rs))
	for i, r := range rs {
		keys[i] = r.Key
	}
	there, err := to.Get(ctx, keys)
	if err != nil {
		return fmt.Errorf("reading %s: %w", to.Name, err)
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
	if err := errors.Join(to.Swap(ctx, writes)...); err != nil {
		return fmt.Errorf("writing %s: %w", to.Name, err)
	}
	return nil
}
