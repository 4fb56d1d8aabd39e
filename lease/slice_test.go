package lease_test

import (
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// A lease is for a whole node: two holders of slices would renew one record.
func TestALeaseHasNoSlices(t *testing.T) {
	s, err := snowfence.NewScheme(snowfence.MustLayout("drift"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := lease.Open(t.Context(), lease.NewMemory(), "orders", s, &lease.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = snowfence.New(snowfence.Config{Fence: snowfence.SequencePart(l, 5, 31)})
	if err == nil || !strings.Contains(err.Error(), "a lease grants the whole sequence of its node") {
		t.Errorf("a slice of a lease: %v", err)
	}
	g, err := snowfence.New(snowfence.Config{Fence: l}) // it is as free as before
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}
