package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// group is a store over which calls are gathered.
type group struct {
	Store
	swaps batcher[[]Write, []error]
	gets  batcher[[]Key, []Record]
	names batcher[string, string]
	times batcher[struct{}, time.Time]

	last atomic.Pointer[memo]

	mu     sync.Mutex
	pins   int      // leases that want the store pinned
	unpins []func() // to be called when there are none
}

// Group returns a store that gathers the calls of many leases into few
// round trips. Calls that come while a round trip to st is under way share
// the next one. So the number of leases in one process is limited only by
// how fast the store writes large batches. A single lease is as fast as
// without a Group. Use one Group for all leases of a process:
//
//	st = store.Group(st)
//	l, err := lease.Open(ctx, st, "default", scheme, nil)
//
// Concurrent swaps become one Swap. A second write of the same key waits
// for a later batch. Concurrent reads become one Get of distinct keys.
// Concurrent calls of Identity or Now become one call. A call shares only a
// round trip that begins after the call. So Group keeps the promise of
// [Store]. Each write gets its own result. All calls that shared a round
// trip get its error. List, Heads and Add go to st unchanged.
//
// A call returns at once when its ctx ends, and does not affect others. If
// its write has not begun, the group drops it. Otherwise the caller does
// not know whether it was done. The group cancels a round trip when all its
// calls have returned. After a second, calls no longer wait for the round
// trip that is under way.
//
// It is safe for concurrent use. There is nothing to close, because its
// goroutines run only during calls. A nil store gives nil.
func Group(st Store) Store {
	if st == nil {
		return nil
	}
	g := &group{Store: st}
	g.swaps = batcher[[]Write, []error]{weigh: weigh[Write], clash: clash, do: g.swap}
	g.gets = batcher[[]Key, []Record]{weigh: weigh[Key], do: g.get}
	g.names = batcher[string, string]{weigh: light[string], do: g.identities}
	g.times = batcher[struct{}, time.Time]{weigh: light[struct{}], do: g.now}
	return g
}

// Get implements [Store].
func (g *group) Get(ctx context.Context, keys []Key) ([]Record, error) {
	return g.gets.ask(ctx, slices.Clone(keys))
}

// Swap implements [Store].
func (g *group) Swap(ctx context.Context, writes []Write) []error {
	if err := Check(writes); err != nil { // of all who would share the round trip
		return slices.Repeat([]error{err}, len(writes))
	}
	errs, err := g.swaps.ask(ctx, slices.Clone(writes))
	if err != nil {
		return slices.Repeat([]error{err}, len(writes))
	}
	return errs
}

// Identity implements [Store].
func (g *group) Identity(ctx context.Context, namespace string) (string, error) {
	return g.names.ask(ctx, namespace)
}

// identities asks for the identity of each namespace once.
func (g *group) identities(ctx context.Context, asked []string) ([]string, error) {
	known := map[string]string{}
	answers := make([]string, len(asked))
	for i, namespace := range asked {
		id, ok := known[namespace]
		if !ok {
			var err error
			if id, err = g.Store.Identity(ctx, namespace); err != nil {
				return nil, err
			}
			known[namespace] = id
		}
		answers[i] = id
	}
	return answers, nil
}

// Decoded returns what decode makes of a record. A [Group] remembers that
// of the last record: all leases read the record of their namespace after
// each write, and it changes seldom.
func Decoded[T any](st Store, r Record, decode func(Record) (T, error)) (T, error) {
	g, ok := st.(*group)
	if !ok {
		return decode(r)
	}
	if last := g.last.Load(); last != nil && last.record == r {
		if decoded, ok := last.decoded.(T); ok {
			return decoded, nil
		}
	}
	decoded, err := decode(r)
	if err == nil {
		g.last.Store(&memo{r, decoded})
	}
	return decoded, err
}

// memo is a stored record and its decoded form.
type memo struct {
	record  Record
	decoded any
}

// Now implements [Store].
func (g *group) Now(ctx context.Context) (time.Time, error) {
	return g.times.ask(ctx, struct{}{})
}

// now asks for the time once, for all callers.
func (g *group) now(ctx context.Context, asked []struct{}) ([]time.Time, error) {
	now, err := g.Store.Now(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Repeat([]time.Time{now}, len(asked)), nil
}

// Pin implements [Store]. The store is pinned once, for all leases.
func (g *group) Pin(ctx context.Context) (unpin func(), err error) {
	g.mu.Lock()
	g.pins++
	pinned := len(g.unpins) > 0
	g.mu.Unlock()
	unpin = sync.OnceFunc(g.unpin)
	if pinned {
		return unpin, nil
	}
	more, err := g.Store.Pin(ctx)
	if err != nil {
		unpin()
		return nil, err
	}
	g.mu.Lock()
	g.unpins = append(g.unpins, more) // several, of leases that are opened at once
	g.mu.Unlock()
	return unpin, nil
}

// unpin lets the store close its files, after the last lease has ended.
func (g *group) unpin() {
	g.mu.Lock()
	var last []func()
	if g.pins--; g.pins == 0 {
		last, g.unpins = g.unpins, nil
	}
	g.mu.Unlock()
	for _, unpin := range last {
		unpin()
	}
}

// swap carries out the writes of many calls as one batch.
func (g *group) swap(ctx context.Context, asked [][]Write) ([][]error, error) {
	writes := slices.Concat(asked...)
	errs := g.Store.Swap(ctx, writes)
	if len(errs) != len(writes) {
		return nil, fmt.Errorf("lease: the store gave %d results for %d writes", len(errs), len(writes))
	}
	answers := make([][]error, len(asked))
	for i, a := range asked {
		answers[i], errs = errs[:len(a):len(a)], errs[len(a):]
	}
	return answers, nil
}

// get reads the keys of many calls at once, each key once.
func (g *group) get(ctx context.Context, asked [][]Key) ([][]Record, error) {
	at := map[Key]int{}
	var keys []Key
	for _, a := range asked {
		for _, k := range a {
			if _, ok := at[k]; !ok {
				at[k] = len(keys)
				keys = append(keys, k)
			}
		}
	}
	rs, err := g.Store.Get(ctx, keys)
	if err != nil {
		return nil, err
	}
	if len(rs) != len(keys) {
		return nil, fmt.Errorf("lease: the store gave %d records for %d keys", len(rs), len(keys))
	}
	answers := make([][]Record, len(asked))
	for i, a := range asked {
		answers[i] = make([]Record, len(a))
		for j, k := range a {
			answers[i][j] = rs[at[k]]
		}
	}
	return answers, nil
}

// weigh returns the weight of a call: the number of its writes or keys.
func weigh[T any](ts []T) int { return len(ts) }

// light is for questions without a weight: any number of them becomes one.
func light[Q any](Q) int { return 0 }

// clash reports whether a key of the writes is taken. If not, it takes
// their keys.
func clash(writes []Write, taken map[Key]bool) bool {
	for _, w := range writes {
		if taken[w.New.Key] {
			return true
		}
	}
	for _, w := range writes {
		taken[w.New.Key] = true
	}
	return false
}
