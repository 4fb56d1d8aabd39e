package scope_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

func encrypted(t *testing.T, spec string, keys ...*snowfence.Secret) *snowfence.Scheme {
	t.Helper()
	l := must(snowfence.ParseLayout(spec))
	return must(snowfence.NewScheme(l, keys...))
}

// One secret for the life of a Randflake namespace: under two, different
// raw IDs can become one. Changing the layout is no way around it.
func TestAnotherSecretIsRefused(t *testing.T) {
	ctx, st := t.Context(), store.NewMemory()
	a, b := encrypted(t, "randflake", snowfence.GenerateSecret()), encrypted(t, "randflake", snowfence.GenerateSecret())
	must(scope.Namespaces(st).Create(ctx, "users", a, nil))
	wantErr(t, errOf(lease.Open(ctx, st, "users", b, nil)), lease.ErrMismatch, "opened with another secret")
	if ns, err := scope.Namespaces(st).Change(ctx, "users", b, nil); err == nil {
		t.Errorf("the same layout under another secret: %+v", ns)
	}
	wantErr(t, errOf(scope.Namespaces(st).Change(ctx, "users", a, nil)), nil, "the same layout under the same secret")
	l := must(lease.Open(ctx, st, "users", a, nil))
	wantErr(t, l.Shutdown(ctx), nil, "shut down")
}

// Where the layout has room for the number of the key, keys are added, and
// a number means the same key for everybody.
func TestKeysAreAdded(t *testing.T) {
	ctx, st := t.Context(), store.NewMemory()
	const spec = "key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1"
	a, b, c := snowfence.GenerateSecret(), snowfence.GenerateSecret(), snowfence.GenerateSecret()
	for _, step := range []struct {
		keys []*snowfence.Secret
		ok   bool
	}{
		{[]*snowfence.Secret{a}, true},
		{[]*snowfence.Secret{a, b}, true},
		{[]*snowfence.Secret{a}, true}, // a process that is behind
		{[]*snowfence.Secret{nil, b}, true},
		{[]*snowfence.Secret{b}, false},
		{[]*snowfence.Secret{a, c}, false},
		{[]*snowfence.Secret{a, b, c}, true},
	} {
		l, err := lease.Open(ctx, st, "orders", encrypted(t, spec, step.keys...), &lease.Options{Create: true})
		if (err == nil) != step.ok || err != nil && !errors.Is(err, snowfence.ErrKey) {
			t.Errorf("%d keys: %v", len(step.keys), err)
		}
		if err == nil {
			wantErr(t, l.Shutdown(ctx), nil, "shut down")
		}
	}
	ns, err := scope.Namespaces(st).Show(ctx, "orders")
	if err != nil || len(ns.Keys) != 3 || ns.Keys[2] != c.ID() {
		t.Errorf("the namespace remembers %q: %v", ns.Keys, err)
	}
	ns, err = scope.Namespaces(st).Change(ctx, "orders", encrypted(t, spec, a), &scope.NamespaceOptions{Unit: 4})
	if err != nil || len(ns.Keys) != 3 || ns.Unit != 4 {
		t.Errorf("with another unit it remembers %q: %v", ns.Keys, err)
	}
}

const rotating = "key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1"

// A namespace made with key A accepted key C at first, and [nil, B] let who
// came first define key 0: it knows its keys from its creation.
func TestKeysAreKnownFromTheCreation(t *testing.T) {
	ctx, st := t.Context(), store.NewMemory()
	a, b, c := snowfence.GenerateSecret(), snowfence.GenerateSecret(), snowfence.GenerateSecret()
	ns, err := scope.Namespaces(st).Create(ctx, "orders", encrypted(t, rotating, a), nil)
	if err != nil || len(ns.Keys) != 1 || ns.Keys[0] != a.ID() {
		t.Fatalf("made with %q: %v", ns.Keys, err)
	}
	wantErr(t, errOf(lease.Open(ctx, st, "orders", encrypted(t, rotating, c), nil)), snowfence.ErrKey, "another key 0")
	_, err = scope.Namespaces(st).Create(ctx, "orders", encrypted(t, rotating, c), nil)
	wantErr(t, err, snowfence.ErrKey, "made again with another key 0")
	for _, keys := range [][]*snowfence.Secret{{nil, b}, {a, nil, c}} {
		_, err := scope.Namespaces(st).Create(ctx, "other", encrypted(t, rotating, keys...), nil)
		wantErr(t, err, snowfence.ErrKey, "%d keys with one left out", len(keys))
		_, err = lease.Open(ctx, st, "other", encrypted(t, rotating, keys...), &lease.Options{Create: true})
		wantErr(t, err, snowfence.ErrKey, "made by a lease with %d keys, one left out", len(keys))
	}
	_, err = lease.Open(ctx, st, "orders", encrypted(t, rotating, a, nil, c), nil)
	wantErr(t, err, snowfence.ErrKey, "key 1 left out")
	// Rotated by who creates it again.
	if ns, err = scope.Namespaces(st).Create(ctx, "orders", encrypted(t, rotating, nil, b), nil); err != nil ||
		len(ns.Keys) != 2 || ns.Keys[0] != a.ID() || ns.Keys[1] != b.ID() {
		t.Errorf("rotated to %q: %v", ns.Keys, err)
	}
	// Deleted and made again it knows them still.
	must(scope.Namespaces(st).Delete(ctx, "orders"))
	_, err = scope.Namespaces(st).Create(ctx, "orders", encrypted(t, rotating, c), nil)
	wantErr(t, err, snowfence.ErrKey, "brought back with another key 0")
	// Another layout has keys of its own, from the change on.
	must(scope.Namespaces(st).Create(ctx, "orders", encrypted(t, rotating, a), nil))
	const wider = "key=3,time=33,node=8,seq=10,tick=1s,cipher=ff1"
	force := &scope.NamespaceOptions{Force: true}
	if _, err := scope.Namespaces(st).Change(ctx, "orders", encrypted(t, wider, nil, c), force); !errors.Is(err,
		snowfence.ErrKey) {
		t.Errorf("changed with key 0 left out: %v", err)
	}
	if ns, err = scope.Namespaces(st).Change(ctx, "orders", encrypted(t, wider, c), force); err != nil ||
		len(ns.Keys) != 1 || ns.Keys[0] != c.ID() {
		t.Errorf("changed: %q, %v", ns.Keys, err)
	}
}

// A namespace that was made without its keys gives no leases until its
// operator names them: the first holder would define what the others' IDs
// mean.
func TestKeysThatANamespaceWasMadeWithout(t *testing.T) {
	ctx, st := t.Context(), store.NewMemory()
	a, b := snowfence.GenerateSecret(), snowfence.GenerateSecret()
	must(scope.Namespaces(st).Create(ctx, "orders", encrypted(t, rotating, a), nil))
	k := store.Key{Namespace: "orders", Node: store.NamespaceNode}
	forget := func(known, instead string) {
		t.Helper()
		rs := got(st.Get(ctx, []store.Key{k}))
		r := rs[0]
		old := r.Nonce
		r.Nonce += "x"
		r.Data = strings.Replace(r.Data, known, instead, 1)
		if r.Data == rs[0].Data {
			t.Fatalf("no %s in %s", known, r.Data)
		}
		must(store.Put(ctx, st, store.Write{Old: old, New: r}))
	}
	open := func(keys ...*snowfence.Secret) error {
		l, err := lease.Open(ctx, st, "orders", encrypted(t, rotating, keys...), nil)
		if err == nil {
			l.Orphan()
		}
		return err
	}
	forget(`"keys":["`+a.ID()+`"]`, `"keys":null`)
	for _, keys := range [][]*snowfence.Secret{{a}, {b}, {nil, b}} {
		wantErr(t, open(keys...), snowfence.ErrKey, "%d keys, of which none is known", len(keys))
	}
	must(scope.Namespaces(st).Create(ctx, "orders", encrypted(t, rotating, a, b), nil))
	forget(`"`+a.ID()+`"`, `""`) // as a list with a key left out once made it
	wantErr(t, open(a, b), snowfence.ErrKey, "key 0 is not known")
	_, err := scope.Namespaces(st).Create(ctx, "orders", encrypted(t, rotating, nil, b), nil)
	wantErr(t, err, snowfence.ErrKey, "key 0 is left out")
	must(scope.Namespaces(st).Create(ctx, "orders", encrypted(t, rotating, a, b), nil))
	wantErr(t, open(a, b), nil, "with both secrets")
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// got returns the records of an answer that has to come.
func got[T any](v T, _ store.Reply, err error) T { return must(v, err) }
