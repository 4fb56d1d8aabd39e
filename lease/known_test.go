package lease_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// setBack puts the records of a store back to what they were when it is called. Later records
// vanish.
func setBack(t *testing.T, st *lease.Memory) (restore func()) {
	t.Helper()
	all := lease.Query{Nodes: snowfence.NodeRange{From: lease.NamespaceNode, Until: 1<<63 - 1}}
	list := func() []lease.Record {
		rs, err := st.List(context.Background(), all)
		if err != nil {
			t.Fatal(err)
		}
		return rs
	}
	backup := map[lease.Key]lease.Record{}
	for _, r := range list() {
		backup[r.Key] = r
	}
	return func() {
		for _, r := range list() {
			old := r.Nonce
			if r = backup[r.Key]; r.Nonce == old {
				continue
			}
			if err := st.Swap(context.Background(), []lease.Write{{Old: old, New: r}})[0]; err != nil {
				t.Fatal(err)
			}
		}
	}
}

// ahead returns a lease whose clock was an hour ahead when it was granted ticks, and is right
// again.
func ahead(t *testing.T, st lease.Store, s *snowfence.Scheme, ttl time.Duration) *lease.Lease {
	t.Helper()
	clock, step := stepped()
	step(time.Hour)
	node := int64(3)
	l := open(t, st, s, lease.Options{Node: &node, TTL: ttl, Time: clock})
	step(-time.Hour)
	return l
}

// A lease that raises the floor of a store that was rolled back raises it above its own ticks,
// wherever its clock was when it was granted them.
func TestRaisedFloorIsAboveKnownTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := lease.NewMemory(), newScheme(t, "time=41,rollback=2,node=8,seq=12,epoch=1999-01-01,tick=1ms")
		node := int64(3)
		l := open(t, st, s, lease.Options{Node: &node}) // the record that the store is rolled back to
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		restore := setBack(t, st)
		l = ahead(t, st, s, ttl)
		defer l.Orphan()
		used := l.Status().Grant
		restore()
		time.Sleep(ttl)
		if g := l.Status().Grant; g.From < used.Until {
			t.Errorf("the store was rolled back: after %+v the lease is granted %+v", used, g)
		}
	})
}

// A lease accepts the floor that another one has raised only where it is above its own ticks.
func TestFloorRaisedByAnotherIsAboveKnownTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := lease.NewMemory(), newScheme(t, "time=41,rollback=2,node=8,seq=12,epoch=1999-01-01,tick=1ms")
		node := int64(3)
		l := open(t, st, s, lease.Options{Node: &node})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		first := int64(4)
		other := open(t, st, s, lease.Options{Node: &first})
		defer other.Orphan()
		restore := setBack(t, st)
		l = ahead(t, st, s, 4*ttl)
		defer l.Orphan()
		used := l.Status().Grant
		time.Sleep(ttl / 2) // the other one renews
		restore()
		time.Sleep(ttl / 2) // and notices first
		ns, err := lease.ShowNamespace(t.Context(), st, "default")
		if err != nil || ns.Generation != 2 || ns.Floor >= used.Until {
			t.Fatalf("the other lease raised no floor below %+v: %+v, %v", used, ns, err)
		}
		time.Sleep(4 * ttl)
		if g := l.Status().Grant; g.From < used.Until {
			t.Errorf("the store was rolled back: after %+v the lease is granted %+v", used, g)
		}
	})
}
