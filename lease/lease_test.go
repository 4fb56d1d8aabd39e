package lease_test

import (
	"errors"
	"strings"
	"testing"
	"time"

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
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"a\x00b", "\xff", strings.Repeat("x", 129)} {
		if _, err := lease.Open(t.Context(), store.NewMemory(), "n", s, &lease.Options{
			Create: true,
			Label:  label,
		}); err == nil || !strings.Contains(err.Error(), "Options.Label") {
			t.Errorf("label %q: %v", label, err)
		}
	}
}

// A namespace whose layout's time has run out could make no ID. One that is there already
// stays: its IDs can still be read.
func TestNamespaceOfTheDead(t *testing.T) {
	layout := func(begin string) *snowfence.Scheme {
		l, err := snowfence.ParseLayout("time=32,node=10,seq=12,tick=1ms,epoch=" + begin)
		if err != nil {
			t.Fatal(err)
		}
		s, err := snowfence.NewScheme(l)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	st := store.NewMemory()
	_, err := lease.Namespaces(st).Create(t.Context(), "old", layout("2020-01-01T00:00:00Z"), nil)
	if !errors.Is(err, snowfence.ErrLifetime) || !errors.Is(err, lease.ErrInvalid) ||
		!strings.Contains(err.Error(), "2020-02-19") {
		t.Errorf("%v", err)
	}
	if _, err := lease.Namespaces(st).Create(t.Context(), "new",
		layout(time.Now().UTC().Format(time.RFC3339)), nil); err != nil {
		t.Error(err)
	}
}
