package server

import (
	"testing"

	"github.com/snowfence/snowfence/lease"
)

// Large batches are refused while as many as are allowed are on their way, small ones are not.
func TestReserve(t *testing.T) {
	s := New(lease.NewMemory(), Options{})
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
