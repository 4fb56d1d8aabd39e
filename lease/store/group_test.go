package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
// trip began.
func (g *gate) Get(ctx context.Context, keys []store.Key) ([]store.Record, error) {
	g.mu.Lock()
	g.gets = append(g.gets, keys)
	g.mu.Unlock()
	rs, err := g.Store.Get(ctx, keys)
	return rs, errors.Join(err, g.pass(ctx, fmt.Sprintf("get %d", len(keys))))
}

func (g *gate) Swap(ctx context.Context, writes []store.Write) []error {
	g.mu.Lock()
	g.swaps = append(g.swaps, writes)
	g.mu.Unlock()
	errs := g.Store.Swap(ctx, writes)
	if err := g.pass(ctx, fmt.Sprintf("swap %d", len(writes))); err != nil {
		for i := range errs {
			errs[i] = err
		}
	}
	return errs
}

func (g *gate) Identity(ctx context.Context, _ string) (string, error) {
	n := len(g.trips())
	return fmt.Sprint("after ", n), g.pass(ctx, "identity")
}

func (g *gate) Now(ctx context.Context) (time.Time, error) {
	now := time.Now()
	return now, g.pass(ctx, "now")
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
			go func() { results[i] = st.Swap(t.Context(), put(node, old, nonce))[0] }()
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
		if errs := st.Swap(t.Context(), append(put(7, "a", "b"), put(7, "b", "c")...)); errs[0] == nil ||
			errs[1] == nil {
			t.Errorf("a key twice in one call: %v", errs)
		}
	})
}

// TestGroupFreshness: a call after a round trip has begun gets the answer
// of a later one: of Get, Identity and Now.
func TestGroupFreshness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		st := store.Group(g)
		got := make([]string, 3)
		get := func(i int) {
			go func() {
				rs, err := st.Get(t.Context(), []store.Key{{Namespace: "group", Node: 1}})
				if err != nil {
					t.Error(err)
					return
				}
				got[i] = rs[0].Nonce
			}()
			synctest.Wait()
		}
		get(0) // reads, and waits for its answer
		if err := g.Store.Swap(t.Context(), put(1, "", "new"))[0]; err != nil {
			t.Fatal(err)
		}
		get(1)
		get(2)
		close(g.open)
		synctest.Wait()
		if got[0] != "" || got[1] != "new" || got[2] != "new" {
			t.Errorf("read %q; the second and third began after the swap was acknowledged", got)
		}
		if n := len(g.gets); n != 2 {
			t.Fatalf("%d round trips for three reads, want 2", n)
		}
		if n := len(g.gets[1]); n != 1 {
			t.Errorf("%d keys were asked for, want one", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		st := store.Group(g)
		ids := make([]string, 3)
		identity := func(i int) {
			go func() {
				id, err := st.Identity(t.Context(), "group")
				if err != nil {
					t.Error(err)
				}
				ids[i] = id
			}()
			synctest.Wait()
		}
		for i := range ids {
			identity(i)
		}
		close(g.open)
		synctest.Wait()
		if ids[0] != "after 0" || ids[1] != "after 1" || ids[2] != "after 1" {
			t.Errorf("identities %q: a later question shared an earlier round trip", ids)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		st := store.Group(g)
		var late atomic.Int64
		now := func() {
			asked := time.Now()
			at, err := st.Now(t.Context())
			if err != nil || at.Before(asked) {
				late.Add(1)
			}
		}
		go now()
		synctest.Wait()
		time.Sleep(time.Millisecond)
		go now()
		synctest.Wait()
		close(g.open)
		synctest.Wait()
		if late.Load() != 0 {
			t.Error("a time from before the question")
		}
	})
}

// TestGroupOfNothing: no store has no group.
func TestGroupOfNothing(t *testing.T) {
	if store.Group(nil) != nil {
		t.Error("a group over no store")
	}
}
