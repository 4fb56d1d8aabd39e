package lease_test

import (
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/leasetest"
)

func TestMemory(t *testing.T) {
	leasetest.Run(t, func(*testing.T) lease.Store { return lease.NewMemory() })
}

func TestLabelsThatNoStoreKeeps(t *testing.T) {
	s, err := snowfence.NewScheme(snowfence.Twitter())
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"a\x00b", "\xff", strings.Repeat("x", 129)} {
		if _, err := lease.Open(t.Context(), lease.NewMemory(), "n", s, &lease.Options{Create: true, Label: label}); err == nil || !strings.Contains(err.Error(), "Options.Label") {
			t.Errorf("label %q: %v", label, err)
		}
	}
}
