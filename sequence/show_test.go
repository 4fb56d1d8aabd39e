package sequence

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

func TestShow(t *testing.T) {
	st, s := made(t, Definition{Mode: Strict, Start: new(int64(10)), Step: -2, Max: new(int64(3)), AfterFailover: Stop})
	show := func(next, left int64, deleted, back bool) {
		t.Helper()
		i, err := Show(t.Context(), st, name)
		want := Info{Name: name, Definition: i.Definition, Next: next, Left: left, Deleted: deleted, RolledBack: back}
		if err != nil || i != want {
			t.Errorf("%+v, %v, want %+v", i, err, want)
		}
		if d := i.Definition; *d.Start != 10 || d.Step != -2 || *d.Max != 3 || d.Mode != Strict {
			t.Errorf("%+v", d)
		}
	}
	show(10, 4, false, false)
	expect(t, s, 10, 8, 6)
	show(4, 1, false, false)
	expect(t, s, 4)
	show(0, 0, false, false)
	st.become("another")
	show(0, 0, false, true)
	noError(t, Update(t.Context(), st, name, Changes{AfterFailover: new(int64(Trust))}))
	show(0, 0, false, false)
	noError(t, Delete(t.Context(), st, name))
	show(0, 0, true, false)
	wantErr(t, Confirm(t.Context(), store.NewMemory(), name, Confirmation{}), lease.ErrInvalid,
		"a confirmation without anything")
	st.fail(always("get", errFault), nil)
	wantErr(t, errOf(Show(t.Context(), st, name)), errFault, "a store that does not answer")
	wantErr(t, errOf(List(t.Context(), st)), errFault, "a store that does not answer")
}

// Sequences are listed in order, and neither they nor namespaces see each
// other.
func TestListSequences(t *testing.T) {
	st := store.NewMemory()
	scheme := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	must(scope.Namespaces(st).Create(t.Context(), "b", scheme, nil))
	for _, r := range []store.Record{ // of other programs: a number given by hand, a period
		{Key: store.Key{Namespace: "b", Node: -2}, Nonce: "x", Data: "7"},
		{Key: store.Key{Namespace: "#a", Node: 20261122}, Nonce: "x", Data: "7"},
	} {
		must(store.Put(t.Context(), st, store.Write{New: r}))
	}
	for _, n := range []string{"c", "a", "b"} {
		noError(t, Create(t.Context(), st, n, Definition{}))
	}
	noError(t, Delete(t.Context(), st, "c"))
	all, err := List(t.Context(), st)
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
	}
	if err != nil || !slices.Equal(names, []string{"a", "b", "c"}) || !all[2].Deleted {
		t.Errorf("%+v, %v", all, err)
	}
	spaces, err := scope.Namespaces(st).List(t.Context())
	if err != nil || len(spaces) != 1 || spaces[0].Name != "b" {
		t.Errorf("%+v, %v", spaces, err)
	}
	if rs, err := scope.Namespaces(st).Leases(t.Context(), "b"); err != nil || len(rs) != 0 {
		t.Errorf("%+v, %v", rs, err)
	}
	refusing := newShaky()
	create(t, refusing, Definition{Pattern: "{year}-{n}"})
	refusing.fail(always("get", errFault), nil)
	wantErr(t, errOf(List(t.Context(), refusing)), errFault, "a period that cannot be read")
	refusing.fail(nil, nil)
	r := refusing.record(t, name)
	r.Nonce, r.Data = "x", r.Data[:len(r.Data)-1]+`,"later":1}`
	refusing.put(t, r)
	fails(t, errOf(List(t.Context(), refusing)), "a record of a later version")
	refusing.Store = listless{refusing.Store}
	wantErr(t, errOf(List(t.Context(), refusing)), errFault, "a store that cannot list")
}

// The highest number that a program may have is the counter's, or below the
// floor of a period.
func TestHighest(t *testing.T) {
	ctx := t.Context()
	st := store.NewMemory()
	for name, d := range map[string]Definition{
		"plain": {Start: new(int64(10)), Step: -3, Max: new(int64(0)), Mode: Strict},
		"dated": {Pattern: "{year}{month}-{n:3}", Mode: Strict},
	} {
		noError(t, Create(ctx, st, name, d))
	}
	highest := func(name string, period, want int64, there bool) {
		t.Helper()
		if got, ok, err := Highest(ctx, st, name, period); err != nil || ok != there || got != want {
			t.Errorf("%d, %t, %v, want %d, %t", got, ok, err, want, there)
		}
	}
	open := func(name string) *Sequence {
		s := must(Open(ctx, st, name, nil))
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	highest("plain", 0, 0, false)
	plain := open("plain")
	for _, want := range []int64{10, 7, 4, 1} {
		if n, err := plain.Next(ctx); n != want || err != nil {
			t.Fatal(n, err)
		}
		highest("plain", 0, want, true)
	}
	wantErr(t, errOf(plain.Next(ctx)), ErrEnded, "")
	highest("plain", 0, 1, true)
	highest("dated", 202001, 0, false)
	dated := must(OpenDated(ctx, st, "dated", &Options{AnyPeriod: true}))
	defer dated.Close()
	must(dated.Reserve(ctx, 202001, 5))
	highest("dated", 202001, 5, true)
	highest("dated", 202002, 0, false)
	for name, period := range map[string]int64{"plain": 2026, "dated": 0} {
		if _, _, err := Highest(ctx, st, name, period); !errors.Is(err, ErrDated) {
			t.Error(err)
		}
	}
	if _, _, err := Highest(ctx, st, "none", 0); !errors.Is(err, ErrNoSequence) {
		t.Error(err)
	}
	noError(t, Confirm(ctx, st, "dated", Confirmation{Floor: new(int64(41))}))
	present := must(Definition{Pattern: "{year}{month}-{n:3}"}.Period(time.Now()))
	highest("dated", present, 40, true)
}

// A floor beyond the end is no number, and a deleted sequence is deleted
// whatever period is named.
func TestHighestAtTheEnd(t *testing.T) {
	st := newShaky()
	create(t, st, Definition{Max: new(int64(7))})
	confirm(t, st, Confirmation{Floor: new(int64(50))})
	if n, ok, err := Highest(t.Context(), st, name, 0); n != 7 || !ok || err != nil {
		t.Errorf("%d, %t, %v", n, ok, err)
	}
	noError(t, Delete(t.Context(), st, name))
	if _, _, err := Highest(t.Context(), st, name, 2026); !errors.Is(err, ErrNoSequence) {
		t.Errorf("of a deleted sequence: %v", err)
	}
}

// A give-back notes how far the count was, never lowers that, and makes a
// new generation.
func TestGiveBackIsNoted(t *testing.T) {
	st := newShaky()
	create(t, st, Definition{Mode: Dense, MinRange: 10, MaxRange: 10})
	for i := int64(10); i > 0; i -= 8 {
		noError(t, Update(t.Context(), st, name, Changes{MinRange: i, MaxRange: i}))
		s := open(t, st, nil)
		must(s.Next(t.Context()))
		settle(t, s)
		was := st.record(t, name).Generation
		noError(t, s.Close())
		now, err := read(t.Context(), st, name)
		if err != nil || now.Reached < 15 || now.record.Generation <= was {
			t.Errorf("%d numbers were taken, says the record of generation %d, %v; it was %d", now.Reached,
				now.record.Generation, err, was)
		}
	}
}
