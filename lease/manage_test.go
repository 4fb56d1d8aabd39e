package lease_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// skipped returns a store in which node 0 was used by a clock that was far ahead, and then
// restored. used is the grant of that clock: its ticks lie ahead, and nobody may be granted them
// again.
func skipped(t *testing.T, s *snowfence.Scheme, ahead time.Duration) (st store.Store, used snowfence.Grant) {
	t.Helper()
	st = store.NewMemory()
	node := int64(0)
	l := open(t, st, s, lease.Options{Node: &node, TTL: time.Second})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	clock, step := stepped()
	step(ahead)
	l = open(t, st, s, lease.Options{Node: &node, TTL: time.Second, Time: clock})
	used = l.Status().Grant
	l.Orphan()
	if _, err := lease.Namespaces(st).Restore(t.Context(), "default", node, time.Now()); err != nil {
		t.Fatal(err)
	}
	return st, used
}

// A namespace whose layout is changed, or that is deleted, starts above the ticks of a clock that
// was ahead.
func TestHighestCountsSkippedTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := thousand(t)
		st, used := skipped(t, s, 4*time.Second)
		ns, err := lease.Namespaces(st).Change(t.Context(), "default",
			newScheme(t, "time=42,node=10,seq=12,epoch=1999-01-01,tick=1ms"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if ns.Floor < used.Until {
			t.Errorf("after the change grants start at %d, and %d to %d were used", ns.Floor, used.From, used.Until)
		}
		st, used = skipped(t, s, 4*time.Second)
		if ns, err = lease.Namespaces(st).Delete(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
		if ns.Floor < used.Until {
			t.Errorf("the deleted namespace keeps the floor %d, and %d to %d were used",
				ns.Floor, used.From, used.Until)
		}
	})
}

// A node that is restored twice keeps out of both stretches that lie ahead and are used
// up: of the fast clock, and of the holder that came after it. The first is forgotten
// only where the floor is above it.
func TestRestoreTwice(t *testing.T) {
	const from = 10_000 // first tick of the fast clock's grant
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name               string
		first, after       int64 // the grant that came after the first restore
		now                int64 // at the second
		floor, skip, until int64 // as it then stands; skip 0 where it has to be refused
	}{
		{"right after the first", 12_000, 13_000, 500, 100, from, 13_000},
		{"further ahead", 20_000, 21_000, 500, 0, 0, 0},
		{"further ahead, and the first is in the past", 20_000, 21_000, 15_000, 12_000, 20_000, 21_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, st := context.Background(), store.NewMemory()
			ns, err := lease.Namespaces(st).Create(ctx, "n", s, nil)
			if err != nil {
				t.Fatal(err)
			}
			// As it stands after the first restore, and after a grant that left out what
			// lies between.
			r := store.Record{
				Key: store.Key{Namespace: "n", Node: 7}, Nonce: "x", Revision: 3, Generation: ns.Generation,
				PrevUntil: 100, SkipFrom: from, SkipUntil: 12_000, From: c.first, Until: c.after, Holder: "h",
			}
			if err := st.Swap(ctx, []store.Write{{Old: "", New: r}})[0]; err != nil {
				t.Fatal(err)
			}
			got, err := lease.Namespaces(st).Restore(ctx, "n", 7, s.Layout().TimeOf(c.now).Add(time.Microsecond))
			if c.skip == 0 {
				if err == nil {
					t.Fatalf("restored, as %+v: the stretch to 12000 is used up and ahead", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Until != c.floor || got.SkipFrom != c.skip || got.SkipUntil != c.until {
				t.Errorf("floor %d, skipped %d to %d; want %d, and %d to %d", got.Until, got.SkipFrom, got.SkipUntil,
					c.floor, c.skip, c.until)
			}
		})
	}
}
