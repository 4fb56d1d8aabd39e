package server

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/backfill"
)

// backfills are the makers of IDs for the past, by node. They notice a
// store that was rolled back, so some are kept.
type backfills struct {
	mu  sync.Mutex
	all map[int64]*backfill.Backfill
}

// maxBackfills is how many nodes are kept; no server needs many.
const maxBackfills = 64

// open returns the maker of a node.
func (b *backfills) open(ctx context.Context, sp *Space, node int64) (*backfill.Backfill, error) {
	b.mu.Lock()
	have := b.all[node]
	b.mu.Unlock()
	if have != nil {
		return have, nil
	}
	if err := sp.core.checkRecord(ctx); err != nil {
		return nil, err
	}
	made, err := backfill.Open(ctx, sp.core.store, sp.Name, sp.Scheme(), node)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil || len(b.all) >= maxBackfills {
		b.all = map[int64]*backfill.Backfill{}
	}
	b.all[node] = made
	return made, nil
}

// mostPast is more IDs than a second of the past has room for.
const mostPast = 1 << 13

// Backfill makes n IDs for a time gone by, of a node without a holder, with
// a tag that was checked.
func (sp *Space) Backfill(ctx context.Context, at time.Time, node, n int64, tag *int64) ([]snowfence.ID, error) {
	ctx, cancel := WithStoreTimeout(ctx)
	defer cancel()
	b, err := sp.backfills.open(ctx, sp, node)
	if err != nil {
		return nil, err
	}
	ids, err := b.NewAt(ctx, slices.Repeat([]time.Time{at}, int(min(n, mostPast)))...)
	if errors.Is(err, backfill.ErrRolledBack) { // a new one goes on after an operator confirmed
		sp.backfills.mu.Lock()
		delete(sp.backfills.all, node)
		sp.backfills.mu.Unlock()
	}
	if errors.Is(err, lease.ErrMismatch) {
		sp.spaces.forgetSpace(sp)
		return nil, sp.changedError()
	}
	if err != nil {
		return nil, err
	}
	sp.Made.Add(n)
	return ids, sp.setTag(ids, tag)
}
