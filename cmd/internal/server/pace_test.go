package server

import (
	"context"
	"sync"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// Large batches are refused while as many as are allowed are on their way, small ones are not.
func TestReserve(t *testing.T) {
	s := New(store.NewMemory(), Options{})
	var all []func()
	for range maxWaiting / MaxBatch {
		release, err := s.Reserve(MaxBatch)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, release)
	}
	if _, err := s.Reserve(smallBatch + 1); KindOf(err) != TooMuch {
		t.Errorf("one batch more: %v", err)
	}
	release, err := s.Reserve(smallBatch)
	if err != nil {
		t.Fatalf("a small batch: %v", err)
	}
	release()
	for _, release := range all {
		release()
	}
	if _, err := s.Reserve(maxWaiting); err != nil {
		t.Errorf("room was not given back: %v", err)
	}
}

// Batches of all lengths, at once, each get IDs of their own.
func TestBatchesOfAllLengths(t *testing.T) {
	s := newService(t, newStore(t, "n"), Options{Lead: 1 << 20})
	sp, err := s.Space(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[snowfence.ID]bool{}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for _, n := range []int{1, smallBatch, smallBatch + 1, 5000, 1024, 20_000, 3000} {
				err := sp.Batch(t.Context(), n, func(ids []snowfence.ID) {
					mu.Lock()
					defer mu.Unlock()
					for _, id := range ids {
						if seen[id] {
							t.Errorf("%d twice", id)
						}
						seen[id] = true
					}
					if len(ids) != n {
						t.Errorf("%d IDs, not %d", len(ids), n)
					}
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sp.Batch(gone, 10, func([]snowfence.ID) { t.Error("made for no caller") }); err == nil {
		t.Error("a batch for who is gone")
	}
}
