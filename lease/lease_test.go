package lease_test

import (
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
)

func TestMemory(t *testing.T) {
	open := func(*testing.T) store.Store { return store.NewMemory() }
	storetest.Run(t, open)
	storetest.RunCounts(t, open)
}

func TestLabelsThatNoStoreKeeps(t *testing.T) {
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	for _, label := range []string{"a\x00b", "\xff", strings.Repeat("x", 129)} {
		if _, err := lease.Open(t.Context(), store.NewMemory(), "n", s, &lease.Options{
			Create: true, Label: label,
		}); err == nil || !strings.Contains(err.Error(), "Options.Label") {
			t.Errorf("label %q: %v", label, err)
		}
	}
}
