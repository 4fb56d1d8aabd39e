package lease_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// skipped returns a store in which node 0 was used by a clock that was far ahead, and then
// restored. used is the grant of that clock: its ticks lie ahead, and they must not be granted
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
