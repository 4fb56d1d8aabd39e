package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"math"
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
func NewMemory() *Memory { return &Memory{id: newID(), records: map[Key]Record{}} }

func newID() string { return "memory:" + rand.Text() }

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
func (m *Memory) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]Record, error) {
	return m.list(ctx, limit, func(k Key) bool {
		return k.Namespace == namespace && k.Node >= nodes.From && k.Node < nodes.Until
	})
}

// Heads implements [Store].
func (m *Memory) Heads(ctx context.Context) ([]Record, error) {
	return m.list(ctx, math.MaxInt, func(k Key) bool {
		return k.Node == NamespaceNode || k.Node == SequenceNode
	})
}

func (m *Memory) list(ctx context.Context, limit int, match func(Key) bool) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var out []Record
	m.mu.Lock()
	for k, r := range m.records {
		if match(k) {
			out = append(out, r)
		}
	}
	m.mu.Unlock()
	slices.SortFunc(out, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Node, b.Node))
	})
	return out[:min(len(out), limit)], nil
}

// Swap implements [Store].
func (m *Memory) Swap(ctx context.Context, writes []Write) []error {
	errs := make([]error, len(writes))
	err := ctx.Err()
	if err == nil {
		err = Check(writes)
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

// Identity implements [Store].
func (m *Memory) Identity(context.Context, string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.id, nil
}

// Suspect implements [Store].
func (m *Memory) Suspect(_ context.Context, identity string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.id == identity {
		m.id = newID()
	}
	return nil
}
