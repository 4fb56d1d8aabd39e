package lease_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// made is what a program makes that leases a node of the namespace default for a while.
func made(t *testing.T, st store.Store, spec string, seen map[snowfence.ID]bool, rounds int) {
	t.Helper()
	node := int64(3)
	r := leased(t, st, newScheme(t, spec), lease.Options{Node: &node}, 0)
	for range rounds {
		for range 16 {
			id, _ := r.next()
			if seen[id] {
				t.Fatalf("%d was made twice", id)
			}
			seen[id] = true
		}
		time.Sleep(time.Millisecond)
	}
	r.stop()
}

// Three layouts: one, a disjoint one, and a near-copy of the first, thirty
// seconds younger. Each step is safe alone. Together they made 156,464 IDs twice.
func TestTwoProvenChangesRepeatedTheLayoutBeforeTheLast(t *testing.T) {
	const (
		a = "time=41,node=4,seq=5,epoch=1999-01-01T00:00:00Z,tick=1ms,last=15"
		b = "time=41,node=4,seq=5,epoch=1999-01-01T00:00:00Z,tick=1ms,first=16"
		c = "time=41,node=4,seq=5,epoch=1999-01-01T00:00:30Z,tick=1ms,last=15"
	)
	synctest.Test(t, func(t *testing.T) {
		st, seen := store.NewMemory(), map[snowfence.ID]bool{}
		if _, err := lease.Namespaces(st).Create(t.Context(), "default", newScheme(t, a), nil); err != nil {
			t.Fatal(err)
		}
		made(t, st, a, seen, 1000)
		if _, err := change(t, st, b); err != nil {
			t.Fatal(err)
		}
		made(t, st, b, seen, 100)
		before, err := lease.Namespaces(st).Show(t.Context(), "default")
		if err != nil {
			t.Fatal(err)
		}
		_, err = change(t, st, c)
		if !errors.Is(err, lease.ErrRefused) || !strings.Contains(err.Error(), "can be made by both") ||
			!strings.Contains(err.Error(), a) {
			t.Fatalf("the near-copy of the layout before the last: %v", err)
		}
		if after, err := lease.Namespaces(st).Show(t.Context(), "default"); err != nil ||
			after.Generation != before.Generation || after.State != lease.Active {
			t.Errorf("a refused change disturbed the namespace: %+v, %v", after, err)
		}
		// The first layout goes on above all that it made.
		// The error names the layout that it must not copy.
		ns, err := change(t, st, a)
		if err != nil || len(ns.History()) != 2 || ns.History()[0].Layout.String() != a ||
			ns.History()[0].Until != ns.History()[1].From {
			t.Fatalf("back to the first layout: %+v, %v", ns, err)
		}
		made(t, st, a, seen, 1000)
		if _, err = change(t, st, c); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("the near-copy is refused after a change back, too: %v", err)
		}
		// A deleted namespace keeps its past.
		if _, err := lease.Namespaces(st).Delete(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
		if _, err := lease.Namespaces(st).Create(t.Context(), "default", newScheme(t, a), nil); err != nil {
			t.Fatal(err)
		}
		made(t, st, a, seen, 10)
		if _, err = change(t, st, c); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("the near-copy is refused in a namespace that was made again, too: %v", err)
		}
		// After half a minute the near-copy stamps ticks above all that the first layout ever had.
		time.Sleep(31 * time.Second)
		if ns, err = change(t, st, b); err != nil || len(ns.History()) != 3 ||
			ns.History()[2].From <= ns.History()[0].Until {
			t.Fatalf("two entries of the first layout, with another one between: %+v, %v", ns.History(), err)
		}
		made(t, st, b, seen, 10)
		time.Sleep(31 * time.Second)
		made(t, st, b, seen, 10)
		if _, err = change(t, st, c); err != nil {
			t.Error(err)
		}
		made(t, st, c, seen, 1000)
	})
}

// A layout that came back goes on where its own ticks ended. Its
// earlier and present ticks are two entries, because another one
// was used in between. A layout without a granted tick leaves none.
func TestPastKeepsWhatWasMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, seen := store.NewMemory(), map[snowfence.ID]bool{}
		spec := func(i int) string {
			epoch := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, -i)
			return "time=41,node=10,seq=12,epoch=" + epoch.Format(time.RFC3339) + ",tick=1ms"
		}
		if _, err := lease.Namespaces(st).Create(t.Context(), "default", newScheme(t, spec(0)), nil); err != nil {
			t.Fatal(err)
		}
		ns, err := change(t, st, spec(1)) // nothing was made yet
		if err != nil || len(ns.History()) != 0 {
			t.Fatalf("%+v, %v", ns.History(), err)
		}
		for i := 1; i <= 63; i++ {
			made(t, st, spec(i), seen, 1)
			if ns, err = change(t, st, spec(i+1)); err != nil || len(ns.History()) != i {
				t.Fatalf("change %d: %d entries, %v", i, len(ns.History()), err)
			}
		}
		made(t, st, spec(64), seen, 1)
		_, err = change(t, st, spec(65))
		if !errors.Is(err, lease.ErrRefused) || !strings.Contains(err.Error(), "use another namespace") {
			t.Errorf("the 65th: %v", err)
		}
		made(t, st, spec(64), seen, 1)
	})
}

// A forced change is remembered as any other: later changes are
// proven against it. Encrypted IDs allow no proof, not even later.
func TestForcedChangeIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a, young = "time=41,node=10,seq=12,epoch=1999-01-01", "time=41,node=10,seq=12,epoch=1999-01-02"
		st, seen := store.NewMemory(), map[snowfence.ID]bool{}
		if _, err := lease.Namespaces(st).Create(t.Context(), "default", newScheme(t, a), nil); err != nil {
			t.Fatal(err)
		}
		made(t, st, a, seen, 5)
		if _, err := change(t, st, young); !errors.Is(err, lease.ErrRefused) {
			t.Fatal(err)
		}
		hidden := encrypted(t, "randflake", snowfence.GenerateSecret())
		if _, err := lease.Namespaces(st).Change(t.Context(), "default",
			lease.NamespaceChange{Scheme: hidden}); !errors.Is(err, lease.ErrRefused) {
			t.Fatalf("to an encrypted layout: %v", err)
		}
		ns, err := lease.Namespaces(st).Change(t.Context(), "default",
			lease.NamespaceChange{Scheme: newScheme(t, young), Force: true})
		if err != nil || len(ns.History()) != 1 {
			t.Fatalf("%+v, %v", ns, err)
		}
		made(t, st, young, map[snowfence.ID]bool{}, 5)
		if _, err := change(t, st, "time=41,node=11,seq=11,epoch=1999-01-02"); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("a layout that repeats the one before the forced change: %v", err)
		}
		ns, err = lease.Namespaces(st).Change(t.Context(), "default", lease.NamespaceChange{
			Scheme: hidden,
			Force:  true,
		})
		if err != nil || len(ns.History()) != 2 {
			t.Fatalf("%+v, %v", ns, err)
		}
		time.Sleep(time.Hour)
		l, err := lease.Open(t.Context(), st, "default", hidden, nil)
		if err != nil {
			t.Fatal(err)
		}
		l.Orphan()
		if _, err := change(t, st, a); !errors.Is(err, lease.ErrRefused) ||
			!strings.Contains(err.Error(), "encrypted") {
			t.Errorf("from an encrypted layout: %v", err)
		}
		ns, err = lease.Namespaces(st).Change(t.Context(), "default", lease.NamespaceChange{
			Scheme: newScheme(t, a),
			Force:  true,
		})
		if err != nil || len(ns.History()) != 3 || ns.History()[2].Key != hidden.Fingerprint() {
			t.Errorf("%+v, %v", ns, err)
		}
		if _, err := change(t, st, "time=42,node=10,seq=12,epoch=1999-01-01"); !errors.Is(err, lease.ErrRefused) ||
			!strings.Contains(err.Error(), "encrypted") {
			t.Errorf("an encrypted layout before the last: %v", err)
		}
	})
}

// A layout that comes back before another one made anything goes on: its entry is one.
func TestPastOfOneLayoutIsJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a, b, c = "time=41,node=10,seq=12,epoch=1999-01-01", "time=42,node=10,seq=12,epoch=1998-01-01",
			"time=42,node=11,seq=11,epoch=1997-01-01"
		st, seen := store.NewMemory(), map[snowfence.ID]bool{}
		if _, err := lease.Namespaces(st).Create(t.Context(), "default", newScheme(t, a), nil); err != nil {
			t.Fatal(err)
		}
		made(t, st, a, seen, 5)
		for _, spec := range []string{b, a} {
			if ns, err := change(t, st, spec); err != nil || len(ns.History()) > 1 {
				t.Fatalf("%+v, %v", ns.History(), err)
			}
		}
		time.Sleep(time.Minute)
		made(t, st, a, seen, 5)
		ns, err := change(t, st, c)
		if err != nil || len(ns.History()) != 1 || ns.History()[0].From != 0 {
			t.Errorf("%+v, %v", ns.History(), err)
		}
	})
}
