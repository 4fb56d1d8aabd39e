package lease

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"

	"github.com/snowfence/snowfence"
)

// Memory is a [Store] in the memory of one process, for
// tests, simulations, and generators that share nothing
// with other processes. Its records end with the process.
type Memory struct {
	Basic
	mu      sync.Mutex
	id      string
	records map[Key]Record
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{id: "memory:" + rand.Text(), records: map[Key]Record{}} }

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, keys []Key) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Record, len(keys))
	for i, k := range keys {
		out[i] = m.records[k]
		out[i].Key = k
	}
	return out, nil
}

// List implements [Store].
func (m *Memory) List(ctx context.Context, q Query) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var out []Record
	m.mu.Lock()
	for _, r := range m.records {
		if q.Match(r) {
			out = append(out, r)
		}
	}
	m.mu.Unlock()
	slices.SortFunc(out, q.Compare)
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out, nil
}

// Swap implements [Store].
func (m *Memory) Swap(ctx context.Context, writes []Write) []error {
	errs := make([]error, len(writes))
	err := ctx.Err()
	if err == nil {
		err = Distinct(writes)
	}
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, w := range writes {
		if m.records[w.New.Key].Nonce != w.Old {
			errs[i] = ErrLost
			continue
		}
		m.records[w.New.Key] = w.New
	}
	return errs
}

// Count implements [Store].
func (m *Memory) Count(ctx context.Context, namespace string, nodes snowfence.NodeRange) (int64, error) {
	rs, err := m.List(ctx, Query{Namespace: namespace, Nodes: nodes})
	return int64(len(rs)), err
}

// Identity implements [Store].
func (m *Memory) Identity(context.Context, string) (string, error) { return m.id, nil }
