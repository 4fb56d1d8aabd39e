package fleet

import (
	"errors"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// OneLine starts generators with the one-line function of a shared store:
// in the namespace default, which the function makes, and in another one,
// which must exist already.
func OneLine(t *testing.T, st store.Store, door func(*lease.Options) (*snowfence.Generator, error)) {
	t.Helper()
	through := func(o *lease.Options) {
		t.Helper()
		g, err := door(o)
		must(t, err)
		a, err := g.Next(t.Context())
		must(t, err)
		if b, err := g.Next(t.Context()); err != nil || b <= a {
			t.Errorf("second ID %d after %d, error %v", b, a, err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	through(nil)
	if ns, err := scope.Namespaces(st).Show(t.Context(), "default"); err != nil ||
		!ns.Layout.Equal(snowfence.Default()) {
		t.Errorf("it made %+v, %v", ns, err)
	}
	orders := &lease.Options{Namespace: "orders"}
	if _, err := door(orders); !errors.Is(err, lease.ErrNoNamespace) {
		t.Fatalf("without a namespace: %v", err)
	}
	must(t, tests.ErrOf(scope.Namespaces(st).Create(t.Context(), "orders", Scheme(t, "sonyflake"), nil)))
	through(orders) // with the layout that it has
}
