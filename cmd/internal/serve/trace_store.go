package serve

import (
	"context"
	"errors"

	"github.com/snowfence/snowfence/lease"
)

// tracedStore makes a span of each round trip.
type tracedStore struct {
	lease.Store
	t *tracing
}

// Get implements [lease.Store].
func (s *tracedStore) Get(ctx context.Context, keys []lease.Key) ([]lease.Record, error) {
	ctx, end := s.t.span(ctx, "store get", len(keys))
	rs, err := s.Store.Get(ctx, keys)
	end(err)
	return rs, err
}

// List implements [lease.Store].
func (s *tracedStore) List(ctx context.Context, q lease.Query) ([]lease.Record, error) {
	ctx, end := s.t.span(ctx, "store list", q.Limit)
	rs, err := s.Store.List(ctx, q)
	end(err)
	return rs, err
}

// Swap implements [lease.Store].
func (s *tracedStore) Swap(ctx context.Context, writes []lease.Write) []error {
	ctx, end := s.t.span(ctx, "store swap", len(writes))
	errs := s.Store.Swap(ctx, writes)
	var failed error
	for _, err := range errs {
		if err != nil && !errors.Is(err, lease.ErrLost) {
			failed = err
		}
	}
	end(failed)
	return errs
}

// Count implements [lease.Store].
func (s *tracedStore) Count(ctx context.Context, namespace string, first, last int64) (int64, error) {
	ctx, end := s.t.span(ctx, "store count", 0)
	n, err := s.Store.Count(ctx, namespace, first, last)
	end(err)
	return n, err
}
