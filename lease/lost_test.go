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

// setBack puts the records of a store back to their
// present state when it is called. Later records vanish.
func setBack(t *testing.T, st *store.Memory) (restore func()) {
	t.Helper()
	list := func() []store.Record {
		heads, err := st.Heads(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var all []store.Record
		for _, head := range heads {
			among := snowfence.NodeRange{From: head.Node, Until: 1<<63 - 1}
			rs, err := st.List(context.Background(), head.Namespace, among, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, rs...)
		}
		return all
	}
	backup := map[store.Key]store.Record{}
	for _, r := range list() {
		backup[r.Key] = r
	}
	return func() {
		for _, r := range list() {
			old := r.Nonce
			if r = backup[r.Key]; r.Nonce == old {
				continue
			}
			if err := st.Swap(context.Background(), []store.Write{{Old: old, New: r}})[0]; err != nil {
				t.Fatal(err)
			}
		}
	}
}

// ahead returns a lease whose clock was an
// hour ahead at its grant, and is right now.
func ahead(t *testing.T, st store.Store, s *snowfence.Scheme, ttl time.Duration) *lease.Lease {
	t.Helper()
	clock, step := stepped()
	step(time.Hour)
	node := int64(3)
	l := open(t, st, s, lease.Options{Node: &node, TTL: ttl, Time: clock})
	step(-time.Hour)
	return l
}

// A lease that raises the floor of a rolled-back store raises
// it above its own ticks, wherever its clock was before.
func TestRaisedFloorIsAboveKnownTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := store.NewMemory(), newScheme(t, "time=41,rollback=2,node=8,seq=12,epoch=1999-01-01,tick=1ms")
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
		st, s := store.NewMemory(), newScheme(t, "time=41,rollback=2,node=8,seq=12,epoch=1999-01-01,tick=1ms")
		if _, err := lease.Namespaces(st).Create(t.Context(), "default", s,
			&lease.NamespaceOptions{MaxTTL: 4 * ttl}); err != nil {
			t.Fatal(err)
		}
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
		ns, err := lease.Namespaces(st).Show(t.Context(), "default")
		if err != nil || ns.Generation != 2 || ns.Floor >= used.Until {
			t.Fatalf("the other lease raised no floor below %+v: %+v, %v", used, ns, err)
		}
		time.Sleep(4 * ttl)
		if g := l.Status().Grant; g.From < used.Until {
			t.Errorf("the store was rolled back: after %+v the lease is granted %+v", used, g)
		}
	})
}

// timed is a store with a time and an identity of its own.
type timed struct {
	*store.Memory
	id  string
	now time.Time
}

func (s *timed) Now(context.Context) (time.Time, error) { return s.now, nil }

func (s *timed) Identity(context.Context, string) (string, error) { return s.id, nil }

// Two clocks may be off in opposite directions, each by as much as
// is allowed. A backup replaces the store. Then a lease whose clock
// is behind must not get what one whose clock is ahead still holds.
func TestReplacedStoreAndOppositeClocks(t *testing.T) {
	ctx := context.Background()
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	const skew = 5 * time.Second
	truth := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	open := func(st store.Store, off time.Duration) snowfence.Grant {
		t.Helper()
		node := int64(7)
		l, err := lease.Open(ctx, st, "n", s, &lease.Options{
			TTL: 5 * time.Second, MaxSkew: skew, Node: &node, Label: "test",
			Time: func() (time.Time, time.Duration) { return truth.Add(off), 0 },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Orphan)
		return l.Status().Grant
	}
	backup := func() *timed {
		st := &timed{store.NewMemory(), "one", truth}
		if _, err := lease.Namespaces(st).Create(ctx, "n", s, nil); err != nil {
			t.Fatal(err)
		}
		return st
	}
	ahead := open(backup(), skew)
	restored := backup()
	restored.id = "two"
	behind := open(restored, -skew)
	if behind.From < ahead.Until {
		t.Errorf("node 7 is granted from tick %d, and is in use until %d", behind.From, ahead.Until)
	}
}

// jumping is a store during whose answer the clock of who asks is set an hour ahead.
type jumping struct {
	timed
	jump func()
}

func (s *jumping) Now(context.Context) (time.Time, error) {
	s.jump()
	return s.now, nil
}

// A clock that jumps while the store is asked for its time does not get into a grant unseen.
func TestJumpWhileAskingForTheTime(t *testing.T) {
	ctx := context.Background()
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	truth := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var off time.Duration
	st := &jumping{timed{store.NewMemory(), "one", truth}, func() { off = time.Hour }}
	if _, err := lease.Namespaces(st).Create(ctx, "n", s, nil); err != nil {
		t.Fatal(err)
	}
	l, err := lease.Open(ctx, st, "n", s, &lease.Options{
		TTL:  5 * time.Second,
		Time: func() (time.Time, time.Duration) { return truth.Add(off), off },
	})
	if err != nil {
		return // refusing is as good
	}
	t.Cleanup(l.Orphan)
	if g, most := l.Status().Grant, s.Layout().TickOf(truth.Add(time.Minute)); g.Until > most {
		t.Errorf("granted until tick %d, an hour ahead; a minute is %d", g.Until, most)
	}
}
