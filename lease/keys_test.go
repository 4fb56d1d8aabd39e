package lease_test

import (
	"errors"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

func encrypted(t *testing.T, spec string, keys ...*snowfence.Key) *snowfence.Scheme {
	t.Helper()
	l, err := snowfence.ParseLayout(spec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := snowfence.NewScheme(l, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// One secret for the life of a Randflake namespace: under two, different raw IDs can become one. Changing the layout is no way around it.
func TestAnotherSecretIsRefused(t *testing.T) {
	ctx, st := t.Context(), lease.NewMemory()
	a, b := encrypted(t, "randflake", snowfence.GenerateKey()), encrypted(t, "randflake", snowfence.GenerateKey())
	if _, err := lease.CreateNamespace(ctx, st, "users", a, nil); err != nil {
		t.Fatal(err)
	}
	var mismatch *lease.MismatchError
	if _, err := lease.Open(ctx, st, "users", b, nil); !errors.As(err, &mismatch) {
		t.Errorf("opened with another secret: %v", err)
	}
	if ns, err := lease.ChangeNamespace(ctx, st, "users", lease.NamespaceChange{Scheme: b}); err == nil {
		t.Errorf("the same layout under another secret: %+v", ns)
	}
	if _, err := lease.ChangeNamespace(ctx, st, "users", lease.NamespaceChange{Scheme: a}); err != nil {
		t.Errorf("the same layout under the same secret: %v", err)
	}
	l, err := lease.Open(ctx, st, "users", a, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// Where the layout has room for the number of the key, keys are added, and a number means the same key for everybody.
func TestKeysAreAdded(t *testing.T) {
	ctx, st := t.Context(), lease.NewMemory()
	const spec = "key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1"
	a, b, c := snowfence.GenerateKey(), snowfence.GenerateKey(), snowfence.GenerateKey()
	for _, step := range []struct {
		keys []*snowfence.Key
		ok   bool
	}{
		{[]*snowfence.Key{a}, true},
		{[]*snowfence.Key{a, b}, true},
		{[]*snowfence.Key{a}, true}, // a process that is behind
		{[]*snowfence.Key{nil, b}, true},
		{[]*snowfence.Key{b}, false},
		{[]*snowfence.Key{a, c}, false},
		{[]*snowfence.Key{a, b, c}, true},
	} {
		l, err := lease.Open(ctx, st, "orders", encrypted(t, spec, step.keys...), &lease.Options{Create: true})
		if (err == nil) != step.ok || err != nil && !errors.Is(err, snowfence.ErrKey) {
			t.Errorf("%d keys: %v", len(step.keys), err)
		}
		if err == nil {
			if err := l.Shutdown(ctx); err != nil {
				t.Error(err)
			}
		}
	}
	ns, err := lease.ShowNamespace(ctx, st, "orders")
	if err != nil || len(ns.Keys) != 3 || ns.Keys[2] != c.ID() {
		t.Errorf("the namespace remembers %q: %v", ns.Keys, err)
	}
}
