package server

import (
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/wire"
)

// Where leases of others leave no long block free, the server takes a shorter one, unless
// the length was asked for.
func TestShorterBlock(t *testing.T) {
	const ttl = 10 * time.Minute // no lease ends, however slow the machine is
	st := newStore(t, "n")
	scheme, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	for first := int64(0); first < 1024; first += 16 { // of each 16, the first 4 stay free and the last 8
		node := first + 4
		r := wire.Request{Node: &node, Label: "other", TTL: ttl}
		if _, err := lease.Serve(st, scheme, nil).Acquire(t.Context(), "n", r); err != nil {
			t.Fatal(err)
		}
	}
	_, err = newService(t, st, Options{Block: 16, TTL: ttl}).one(t.Context(), "n")
	if !errors.As(err, new(*lease.TakenError)) {
		t.Errorf("16 nodes, asked for: %v", err)
	}
	for range 64 {
		s := newService(t, st, Options{TTL: ttl})
		if _, err := s.one(t.Context(), "n"); err != nil {
			t.Fatal(err)
		}
	}
	if n := held(t, st, "n"); n != 64+64*8 {
		t.Errorf("%d nodes are held", n)
	}
	s := newService(t, st, Options{TTL: ttl})
	if _, err := s.one(t.Context(), "n"); err != nil {
		t.Errorf("with blocks of 4 left: %v", err)
	}
	if n := held(t, st, "n"); n != 64+64*8+4 {
		t.Errorf("%d nodes are held", n)
	}
}
