package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// group is a store over which calls are gathered.
type group struct {
	Store
	swaps batcher[wanted, swapped]
	gets  batcher[[]Key, found]

	last atomic.Pointer[memo]

	mu     sync.Mutex
	pins   int      // leases that want the store pinned
	unpins []func() // to be called when there are none
}

// wanted are the writes of a call, and the keys to be read after them.
type wanted struct {
	writes []Write
	then   []Key
}

// swapped and found are answers of the store.
type swapped struct {
	errs  []error
	then  []Record
	reply Reply
}

type found struct {
	records []Record
	reply   Reply
	err     error
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
// for a later batch. Concurrent reads become one Get of distinct keys. Each
// namespace has round trips of its own. A call shares only a round trip
// that begins after the call. So Group keeps the promise of [Store]. Each
// write gets its own result. All calls that shared a round trip get its
// [Reply] and its error. List, Heads and Add go to st unchanged.
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
	g.swaps = batcher[wanted, swapped]{weigh: func(w wanted) int { return len(w.writes) }, clash: clash, do: g.swap}
	g.gets = batcher[[]Key, found]{weigh: func(keys []Key) int { return len(keys) }, do: g.get}
	return g
}

// Get implements [Store].
func (g *group) Get(ctx context.Context, keys []Key) ([]Record, Reply, error) {
	f, err := g.gets.ask(ctx, slices.Clone(keys))
	return f.records, f.reply, cmp.Or(err, f.err)
}

// Swap implements [Store].
func (g *group) Swap(ctx context.Context, writes []Write, then ...Key) ([]error, []Record, Reply) {
	err := Check(writes) // of all who would share the round trip
	var s swapped
	if err == nil {
		s, err = g.swaps.ask(ctx, wanted{slices.Clone(writes), then})
	}
	if err != nil {
		return slices.Repeat([]error{err}, len(writes)), nil, Reply{}
	}
	return s.errs, s.then, s.reply
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

// swap carries out the writes of many calls as a batch for each namespace.
// It reads after them if all calls want the same records.
func (g *group) swap(ctx context.Context, asked []wanted) ([]swapped, error) {
	answers := make([]swapped, len(asked))
	eachNamespace(asked, wanted.namespace, func(calls []int) {
		var writes []Write
		then := asked[calls[0]].then
		for _, i := range calls {
			writes = append(writes, asked[i].writes...)
			if !slices.Equal(then, asked[i].then) {
				then = nil
			}
		}
		errs, rs, reply := g.Store.Swap(ctx, writes, then...)
		if len(errs) != len(writes) {
			err := fmt.Errorf("lease: the store gave %d results for %d writes", len(errs), len(writes))
			errs, rs, reply = slices.Repeat([]error{err}, len(writes)), nil, Reply{}
		}
		for _, i := range calls {
			n := len(asked[i].writes)
			answers[i], errs = swapped{errs[:n:n], rs, reply}, errs[n:]
		}
	})
	return answers, nil
}

// get reads the keys of many calls at once for each namespace, each key
// once.
func (g *group) get(ctx context.Context, asked [][]Key) ([]found, error) {
	answers := make([]found, len(asked))
	eachNamespace(asked, namespaceOf, func(calls []int) {
		at := map[Key]int{}
		var keys []Key
		for _, i := range calls {
			for _, k := range asked[i] {
				if _, ok := at[k]; !ok {
					at[k] = len(keys)
					keys = append(keys, k)
				}
			}
		}
		rs, reply, err := g.Store.Get(ctx, keys)
		if err == nil && len(rs) != len(keys) {
			err = fmt.Errorf("lease: the store gave %d records for %d keys", len(rs), len(keys))
		}
		for _, i := range calls {
			answers[i] = found{nil, reply, err}
			for _, k := range asked[i] {
				if err == nil {
					answers[i].records = append(answers[i].records, rs[at[k]])
				}
			}
		}
	})
	return answers, nil
}

// eachNamespace runs do with the calls of each namespace, at the same time:
// a call of the store is of one, because some stores have an identity for
// each. A call of nothing has the name "", and is left out.
func eachNamespace[T any](asked []T, name func(T) string, do func(calls []int)) {
	calls := map[string][]int{}
	for i, a := range asked {
		if n := name(a); n != "" {
			calls[n] = append(calls[n], i)
		}
	}
	var all sync.WaitGroup
	for _, same := range calls {
		if len(calls) == 1 {
			do(same)
			return
		}
		all.Go(func() { do(same) })
	}
	all.Wait()
}

func (w wanted) namespace() string {
	if len(w.writes) == 0 {
		return ""
	}
	return w.writes[0].New.Namespace
}

func namespaceOf(keys []Key) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[0].Namespace
}

// clash reports whether a key of the writes is taken. If not, it takes
// their keys.
func clash(w wanted, taken map[Key]bool) bool {
	for _, w := range w.writes {
		if taken[w.New.Key] {
			return true
		}
	}
	for _, w := range w.writes {
		taken[w.New.Key] = true
	}
	return false
}
