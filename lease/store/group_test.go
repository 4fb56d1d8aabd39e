package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
)

func TestGroup(t *testing.T) {
	open := func(*testing.T) store.Store { return store.Group(store.NewMemory()) }
	storetest.Run(t, open)
	storetest.RunCounts(t, open)
}

// gate is a store whose round trips wait until they are let through, and
// are written down as they begin.
type gate struct {
	store.Store
	mu    sync.Mutex
	began []string
	swaps [][]store.Write
	gets  [][]store.Key
	open  chan struct{} // one receive a round trip; closed for all
}

func newGate() *gate { return &gate{Store: store.NewMemory(), open: make(chan struct{})} }

func (g *gate) pass(ctx context.Context, what string) error {
	g.mu.Lock()
	g.began = append(g.began, what)
	g.mu.Unlock()
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) trips() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.began...)
}

// Get reads before it waits: the answer is of the moment at which the round
// trip began, and names its namespace.
func (g *gate) Get(ctx context.Context, keys []store.Key) (_ []store.Record, reply store.Reply, _ error) {
	g.mu.Lock()
	g.gets = append(g.gets, keys)
	reply.Identity = fmt.Sprint(keys[0].Namespace, " ", len(g.gets))
	g.mu.Unlock()
	rs, _, err := g.Store.Get(ctx, keys)
	return rs, reply, errors.Join(err, g.pass(ctx, fmt.Sprintf("get %d", len(keys))))
}

func (g *gate) Swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) (_ []error, _ []store.Record, reply store.Reply) {
	g.mu.Lock()
	g.swaps = append(g.swaps, writes)
	g.mu.Unlock()
	errs, rs, reply := g.Store.Swap(ctx, writes, then...)
	if err := g.pass(ctx, fmt.Sprintf("swap %d", len(writes))); err != nil {
		for i := range errs {
			errs[i] = err
		}
	}
	return errs, rs, reply
}

func record(node int64, nonce string) store.Record {
	return store.Record{Key: store.Key{Namespace: "group", Node: node}, Nonce: nonce, Revision: 1}
}

func put(node int64, old, nonce string) []store.Write {
	return []store.Write{{Old: old, New: record(node, nonce)}}
}

// TestGroupBatches: while a swap is under way, others gather, and go
// together, each with its own result; the same key goes later.
func TestGroupBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		st := store.Group(g)
		results := make([]error, 12)
		swap := func(i int, node int64, old, nonce string) {
			go func() { _, results[i] = store.Put(t.Context(), st, put(node, old, nonce)[0]) }()
			synctest.Wait()
		}
		swap(0, 0, "", "a")
		for i := 1; i < 10; i++ {
			swap(i, int64(i), map[bool]string{true: "wrong"}[i == 5], "a")
		}
		swap(10, 3, "a", "b") // of a key that waits already
		swap(11, 3, "b", "c")
		if got := fmt.Sprint(g.trips()); got != "[swap 1]" {
			t.Fatalf("while the first round trip is under way: %s", got)
		}
		for _, want := range []string{
			"[swap 1 swap 9]", "[swap 1 swap 9 swap 1]", "[swap 1 swap 9 swap 1 swap 1]",
			"[swap 1 swap 9 swap 1 swap 1]",
		} {
			g.open <- struct{}{}
			synctest.Wait()
			if got := fmt.Sprint(g.trips()); got != want {
				t.Fatalf("round trips: %s, want %s", got, want)
			}
		}
		for i, err := range results {
			if i == 5 && !errors.Is(err, store.ErrLost) || i != 5 && err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if errs, _, _ := st.Swap(t.Context(), append(put(7, "a", "b"), put(7, "b", "c")...)); errs[0] == nil ||
			errs[1] == nil {
			t.Errorf("a key twice in one call: %v", errs)
		}
	})
}

// TestGroupFreshness: a call after a round trip has begun gets the answer
// of a later one. Each namespace has round trips of its own.
func TestGroupFreshness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		st := store.Group(g)
		got := make([]string, 4)
		get := func(i int, namespace string) {
			go func() {
				rs, reply, err := st.Get(t.Context(), []store.Key{{Namespace: namespace, Node: 1}})
				if err != nil {
					t.Error(err)
					return
				}
				got[i] = reply.Identity + " " + rs[0].Nonce
			}()
			synctest.Wait()
		}
		get(0, "group") // reads, and waits for its answer
		if _, err := store.Put(t.Context(), g.Store, put(1, "", "new")[0]); err != nil {
			t.Fatal(err)
		}
		get(1, "group")
		get(2, "group")
		get(3, "other")
		close(g.open)
		synctest.Wait()
		n := strings.Fields(got[1])[1] // the order of namespaces is open
		want := []string{"group 1 ", "group " + n + " new", "group " + n + " new", map[string]string{
			"2": "other 3 ", "3": "other 2 ",
		}[n]}
		if !slices.Equal(got, want) {
			t.Errorf("read %q, want %q: the second and third began after the swap was acknowledged", got, want)
		}
		if n := len(g.gets); n != 3 {
			t.Fatalf("%d round trips for four reads, want 3", n)
		}
		if n := len(slices.Concat(g.gets...)); n != 3 {
			t.Errorf("%d keys were asked for, want one in each", n)
		}
	})
}

// TestGroupReadsAfterSwaps: calls that share a round trip read the same
// records in it, or none.
func TestGroupReadsAfterSwaps(t *testing.T) {
	for other, want := range map[int64]int{-1: 1, 7: 0} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate()
			st := store.Group(g)
			read := make([][]store.Record, 3)
			for i, then := range []int64{-1, -1, other} {
				go func() {
					key := store.Key{Namespace: "group", Node: then}
					_, read[i], _ = st.Swap(t.Context(), put(int64(i), "", "a"), key)
				}()
				synctest.Wait()
			}
			close(g.open)
			synctest.Wait()
			if len(read[0]) != 1 || len(read[1]) != want || len(read[2]) != want {
				t.Errorf("with -1, -1 and %d: read %v", other, read)
			}
		})
	}
}

// TestGroupOfNothing: no store has no group.
func TestGroupOfNothing(t *testing.T) {
	if store.Group(nil) != nil {
		t.Error("a group over no store")
	}
}
