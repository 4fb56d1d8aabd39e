package server

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// Large answers are refused while as many as are allowed are on their way.
// One client leaves room for another, and small answers need none.
func TestReserve(t *testing.T) {
	s := New(store.NewMemory(), Options{})
	first, second := &Caller{From: "192.0.2.1:1"}, &Caller{From: "192.0.2.2:1"}
	n := 0
	for ; s.Reserve(first, 1<<20) == nil; n++ {
	}
	if n < 190 || n > 194 {
		t.Errorf("one client has %d of 256 MB", n)
	}
	if err := s.Reserve(first, 1<<20); KindOf(err) != TooMuch {
		t.Errorf("beyond its share: %v", err)
	}
	wantErr(t, s.Reserve(first, freeRoom), nil, "a small answer")
	wantErr(t, s.Reserve(second, 32<<20), nil, "another client")
	own := &Caller{From: "127.0.0.1:1"} // programs of this machine share its address
	if err := s.Reserve(own, 33<<20); KindOf(err) != TooMuch {
		t.Errorf("beyond all: %v", err)
	}
	s.Ended(first)
	s.Ended(second)
	if err := s.Reserve(own, MostRoom); err != nil || s.used.by["192.0.2.1"] != 0 {
		t.Errorf("room was not given back: %v", err)
	}
}

// A stream waits for its rate, and its token's other requests do not.
func TestStreamLeavesItsTokenOthers(t *testing.T) {
	a := must(NewAuth([]Token{{Name: "shop", SHA256: strings.Repeat("1", 64), Rate: 0.001, Burst: 10}}))
	ctx, cancel := context.WithCancel(t.Context())
	id := a.tokens[0]
	if n, err := id.Pace(ctx, 1000); n != 5 || err != nil {
		t.Errorf("the first piece: %d, %v", n, err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	fails(t, errOf(id.Pace(ctx, 1000)), "a stream takes what is for others")
	for range 5 {
		wantErr(t, id.Authorize(VerbIDs, "default", 1), nil, "another request")
	}
}

// Batches of all lengths, at once, each get IDs of their own.
func TestBatchesOfAllLengths(t *testing.T) {
	s := newService(t, newStore(t, "n"), Options{Lead: 1 << 20})
	var mu sync.Mutex
	seen := map[snowfence.ID]bool{}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			c := CallerOf(anyone(t.Context()))
			for _, n := range []int64{1, smallBatch, smallBatch + 1, 5000, 1024, 20_000, 3000} {
				o := Order{Namespace: "n", Count: n}
				err := s.IDs.Batch(t.Context(), c, o, func(ids []snowfence.ID) {
					mu.Lock()
					defer mu.Unlock()
					for _, id := range ids {
						if seen[id] {
							t.Errorf("%d twice", id)
						}
						seen[id] = true
					}
					if int64(len(ids)) != n {
						t.Errorf("%d IDs, not %d", len(ids), n)
					}
				})
				noError(t, err)
			}
		})
	}
	all.Wait()
	gone, cancel := context.WithCancel(anyone(t.Context()))
	cancel()
	use := func([]snowfence.ID) { t.Error("made for no caller") }
	fails(t, s.IDs.Batch(gone, CallerOf(gone), Order{Namespace: "n", Count: 10}, use), "a batch for who is gone")
}
