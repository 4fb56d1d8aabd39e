package serve

import (
	"context"
	"errors"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// tracedStore hands everything through. A store without an identity or a time has the empty one, which means the same; what it cannot count it must not
// seem to.
type tracedStore struct {
	lease.Store
	t *tracing
}

type tracedCounter struct {
	*tracedStore
	counter lease.Counter
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

// Identity implements [lease.Identifier].
func (s *tracedStore) Identity(ctx context.Context) (string, error) {
	if i, ok := s.Store.(lease.Identifier); ok {
		return i.Identity(ctx)
	}
	return "", nil
}

// NamespaceIdentity implements [lease.NamespaceIdentifier].
func (s *tracedStore) NamespaceIdentity(ctx context.Context, namespace string) (string, error) {
	if i, ok := s.Store.(lease.NamespaceIdentifier); ok {
		return i.NamespaceIdentity(ctx, namespace)
	}
	return s.Identity(ctx)
}

// Now implements [lease.Clock].
func (s *tracedStore) Now(ctx context.Context) (time.Time, error) {
	if c, ok := s.Store.(lease.Clock); ok {
		return c.Now(ctx)
	}
	return time.Time{}, nil
}

// Pin implements [lease.Pinner].
func (s *tracedStore) Pin(ctx context.Context) (unpin func(), err error) {
	if p, ok := s.Store.(lease.Pinner); ok {
		return p.Pin(ctx)
	}
	return func() {}, nil
}

// Count implements [lease.Counter].
func (s *tracedCounter) Count(ctx context.Context, namespace string, first, last int64) (int64, error) {
	ctx, end := s.t.span(ctx, "store count", 0)
	n, err := s.counter.Count(ctx, namespace, first, last)
	end(err)
	return n, err
}
