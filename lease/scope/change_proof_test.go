package scope_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// made is what a program makes that leases a node of the namespace default
// for a while.
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
		must(scope.Namespaces(st).Create(t.Context(), "default", newScheme(t, spec(0)), nil))
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
		tests.Refuses(t, err, lease.ErrRefused, "use another namespace")
		made(t, st, spec(64), seen, 1)
	})
}

// A layout that comes back before another one made anything goes on: its
// entry is one.
func TestPastOfOneLayoutIsJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a, b, c = "time=41,node=10,seq=12,epoch=1999-01-01", "time=42,node=10,seq=12,epoch=1998-01-01",
			"time=42,node=11,seq=11,epoch=1997-01-01"
		st, seen := store.NewMemory(), map[snowfence.ID]bool{}
		must(scope.Namespaces(st).Create(t.Context(), "default", newScheme(t, a), nil))
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
