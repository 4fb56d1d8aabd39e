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
func (m *Memory) Get(ctx context.Context, keys []Key) ([]Record, Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, Reply{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pick(keys), Reply{Identity: m.id}, nil
}

// pick returns the records of the keys; nil for none. mu is held.
func (m *Memory) pick(keys []Key) (out []Record) {
	for _, k := range keys {
		r := m.records[k]
		r.Key = k
		out = append(out, r)
	}
	return out
}

// List implements [Store].
func (m *Memory) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]Record, Reply, error) {
	return m.list(ctx, limit, func(k Key) bool {
		return k.Namespace == namespace && k.Node >= nodes.From && k.Node < nodes.Until
	})
}

// Heads implements [Store].
func (m *Memory) Heads(ctx context.Context) ([]Record, Reply, error) {
	return m.list(ctx, math.MaxInt, func(k Key) bool {
		return k.Node == NamespaceNode || k.Node == SequenceNode
	})
}

func (m *Memory) list(ctx context.Context, limit int, match func(Key) bool) ([]Record, Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, Reply{}, err
	}
	var out []Record
	m.mu.Lock()
	for k, r := range m.records {
		if match(k) {
			out = append(out, r)
		}
	}
	reply := Reply{Identity: m.id}
	m.mu.Unlock()
	slices.SortFunc(out, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Node, b.Node))
	})
	return out[:min(len(out), limit)], reply, nil
}

// Swap implements [Store].
func (m *Memory) Swap(ctx context.Context, writes []Write, then ...Key) ([]error, []Record, Reply) {
	errs := make([]error, len(writes))
	err := ctx.Err()
	if err == nil {
		err = Check(writes)
	}
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs, nil, Reply{}
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
	return errs, m.pick(then), Reply{Identity: m.id}
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
