package lease_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// change gives the namespace default another layout.
func change(t *testing.T, st lease.Store, spec string) (lease.Namespace, error) {
	t.Helper()
	return lease.ChangeNamespace(t.Context(), st, "default", lease.NamespaceChange{Scheme: newScheme(t, spec)})
}

// made is what a program makes that leases a node of the namespace default for a while.
func made(t *testing.T, st lease.Store, spec string, seen map[snowfence.ID]bool, rounds int) {
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

// A layout, one that is disjoint from it, and a near-copy of the first that is thirty
// seconds younger: each step is safe by itself, and together they made 156,464 IDs twice.
func TestTwoProvenChangesRepeatedTheLayoutBeforeTheLast(t *testing.T) {
	const (
		a = "time=41,node=4,seq=5,epoch=1999-01-01T00:00:00Z,tick=1ms,last=15"
		b = "time=41,node=4,seq=5,epoch=1999-01-01T00:00:00Z,tick=1ms,first=16"
		c = "time=41,node=4,seq=5,epoch=1999-01-01T00:00:30Z,tick=1ms,last=15"
	)
	synctest.Test(t, func(t *testing.T) {
		st, seen := lease.NewMemory(), map[snowfence.ID]bool{}
		if _, err := lease.CreateNamespace(t.Context(), st, "default", newScheme(t, a), nil); err != nil {
			t.Fatal(err)
		}
		made(t, st, a, seen, 1000)
		if _, err := change(t, st, b); err != nil {
			t.Fatal(err)
		}
		made(t, st, b, seen, 100)
		before, err := lease.ShowNamespace(t.Context(), st, "default")
		if err != nil {
			t.Fatal(err)
		}
		_, err = change(t, st, c)
		if !errors.Is(err, lease.ErrRefused) || !strings.Contains(err.Error(), "can be made by both") ||
			!strings.Contains(err.Error(), a) {
			t.Fatalf("the near-copy of the layout before the last: %v", err)
		}
		if after, err := lease.ShowNamespace(t.Context(), st, "default"); err != nil ||
			after.Generation != before.Generation || after.State != lease.Active {
			t.Errorf("a refused change disturbed the namespace: %+v, %v", after, err)
		}
		// The first layout itself goes on above all that it made, and what it is not safe
		// to copy is told by the record.
		ns, err := change(t, st, a)
		if err != nil || len(ns.Past) != 2 || ns.Past[0].Layout != a || ns.Past[0].Floor != ns.Past[1].Start {
			t.Fatalf("back to the first layout: %+v, %v", ns, err)
		}
		made(t, st, a, seen, 1000)
		if _, err = change(t, st, c); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("the near-copy is refused after a change back, too: %v", err)
		}
		// A deleted namespace keeps its past.
		if _, err := lease.DeleteNamespace(t.Context(), st, "default"); err != nil {
			t.Fatal(err)
		}
		if _, err := lease.CreateNamespace(t.Context(), st, "default", newScheme(t, a), nil); err != nil {
			t.Fatal(err)
		}
		made(t, st, a, seen, 10)
		if _, err = change(t, st, c); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("the near-copy is refused in a namespace that was made again, too: %v", err)
		}
		// After half a minute the near-copy stamps ticks above all that the first layout ever had.
		time.Sleep(31 * time.Second)
		if ns, err = change(t, st, b); err != nil || len(ns.Past) != 3 || ns.Past[2].Start <= ns.Past[0].Floor {
			t.Fatalf("two entries of the first layout, with another one between: %+v, %v", ns.Past, err)
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

// A layout that came back goes on where its own ticks ended: what it had before and has
// now are two entries, because another one was used in between. Layouts of which no tick
// was granted leave none.
func TestPastKeepsWhatWasMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, seen := lease.NewMemory(), map[snowfence.ID]bool{}
		spec := func(i int) string {
			epoch := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, -i)
			return "time=41,node=10,seq=12,epoch=" + epoch.Format(time.RFC3339) + ",tick=1ms"
		}
		if _, err := lease.CreateNamespace(t.Context(), st, "default", newScheme(t, spec(0)), nil); err != nil {
			t.Fatal(err)
		}
		ns, err := change(t, st, spec(1)) // nothing was made yet
		if err != nil || ns.Past == nil || len(ns.Past) != 0 {
			t.Fatalf("%+v, %v", ns.Past, err)
		}
		for i := 1; i <= 64; i++ {
			made(t, st, spec(i), seen, 1)
			if ns, err = change(t, st, spec(i+1)); err != nil || len(ns.Past) != i {
				t.Fatalf("change %d: %d entries, %v", i, len(ns.Past), err)
			}
		}
		made(t, st, spec(65), seen, 1)
		_, err = change(t, st, spec(66))
		if !errors.Is(err, lease.ErrRefused) || !strings.Contains(err.Error(), "use another namespace") {
			t.Errorf("the 65th: %v", err)
		}
		made(t, st, spec(65), seen, 1)
	})
}

// The texts of layouts may be long, and a store keeps 60,000 bytes of a record.
func TestPastOfLongLayoutsFitsIntoARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, seen := lease.NewMemory(), map[snowfence.ID]bool{}
		spec := func(i int) string {
			s := "time=41"
			for n := range 20 {
				s += fmt.Sprintf(",part-%c%s=1", 'a'+n, strings.Repeat("x", 25))
			}
			epoch := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, -i)
			return s + ",seq=2,epoch=" + epoch.Format(time.RFC3339) + ",tick=1ms"
		}
		if _, err := lease.CreateNamespace(t.Context(), st, "default", newScheme(t, spec(0)), nil); err != nil {
			t.Fatal(err)
		}
		var err error
		n := 0
		for ; n < 64 && err == nil; n++ {
			made(t, st, spec(n), seen, 1)
			_, err = change(t, st, spec(n+1))
		}
		if !errors.Is(err, lease.ErrRefused) || !strings.Contains(err.Error(), "use another namespace") {
			t.Errorf("after %d: %v", n, err)
		}
		rs, err := st.Get(t.Context(), []lease.Key{{Namespace: "default", Node: lease.NamespaceNode}})
		if err != nil || len(rs[0].Data) > 50_000 {
			t.Errorf("the record has %d bytes, %v", len(rs[0].Data), err)
		}
	})
}

// data replaces text in the record of the namespace default, as another version of this
// library would have written it.
func data(t *testing.T, st lease.Store, old, now string) {
	t.Helper()
	rs, err := st.Get(t.Context(), []lease.Key{{Namespace: "default", Node: lease.NamespaceNode}})
	if err != nil {
		t.Fatal(err)
	}
	r := rs[0]
	if !strings.Contains(r.Data, old) {
		t.Fatalf("no %s in %s", old, r.Data)
	}
	r.Data, r.Nonce = strings.Replace(r.Data, old, now, 1), r.Nonce+"x"
	if err := st.Swap(t.Context(), []lease.Write{{Old: rs[0].Nonce, New: r}})[0]; err != nil {
		t.Fatal(err)
	}
}

// Records of before have no past. In a namespace that was never changed there is none;
// otherwise nothing can be proven of layouts that nobody knows.
func TestRecordOfAnEarlierVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a, b, c = "time=41,node=10,seq=12,epoch=1999-01-01", "time=42,node=10,seq=12,epoch=1999-01-01",
			"time=42,node=11,seq=11,epoch=1998-01-01"
		st, seen := lease.NewMemory(), map[snowfence.ID]bool{}
		if _, err := lease.CreateNamespace(t.Context(), st, "default", newScheme(t, a), nil); err != nil {
			t.Fatal(err)
		}
		made(t, st, a, seen, 5)
		data(t, st, `,"past":[]`, ``)
		ns, err := change(t, st, b)
		if err != nil || len(ns.Past) != 1 {
			t.Fatalf("a namespace that was never changed: %+v, %v", ns, err)
		}
		made(t, st, b, seen, 5)
		before, _, _ := strings.Cut(string(must(t, st)), `,"past":`)
		data(t, st, string(must(t, st)), before+"}")
		if _, err := change(t, st, c); !errors.Is(err, lease.ErrRefused) ||
			!strings.Contains(err.Error(), "earlier version") {
			t.Errorf("the layouts before are not known: %v", err)
		}
		if _, err := lease.ChangeNamespace(t.Context(), st, "default",
			lease.NamespaceChange{Nodes: snowfence.NodeRange{Until: 512}}); err != nil {
			t.Errorf("other nodes need no proof: %v", err)
		}
		made(t, st, b, seen, 5)
		ns, err = lease.ChangeNamespace(t.Context(), st, "default", lease.NamespaceChange{
			Scheme: newScheme(t, c),
			Force:  true,
		})
		if err != nil || ns.Past != nil {
			t.Errorf("forced, and not known any better: %+v, %v", ns, err)
		}
	})
}

// must returns the data of the namespace default.
func must(t *testing.T, st lease.Store) []byte {
	t.Helper()
	rs, err := st.Get(t.Context(), []lease.Key{{Namespace: "default", Node: lease.NamespaceNode}})
	if err != nil {
		t.Fatal(err)
	}
	return []byte(rs[0].Data)
}

// A forced change is remembered as any other: what follows is proven against it. Of
// encrypted IDs nothing can be proven, not even later.
func TestForcedChangeIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a, young = "time=41,node=10,seq=12,epoch=1999-01-01", "time=41,node=10,seq=12,epoch=1999-01-02"
		st, seen := lease.NewMemory(), map[snowfence.ID]bool{}
		if _, err := lease.CreateNamespace(t.Context(), st, "default", newScheme(t, a), nil); err != nil {
			t.Fatal(err)
		}
		made(t, st, a, seen, 5)
		if _, err := change(t, st, young); !errors.Is(err, lease.ErrRefused) {
			t.Fatal(err)
		}
		hidden := encrypted(t, "randflake", snowfence.GenerateSecret())
		if _, err := lease.ChangeNamespace(t.Context(), st, "default",
			lease.NamespaceChange{Scheme: hidden}); !errors.Is(err, lease.ErrRefused) {
			t.Fatalf("to an encrypted layout: %v", err)
		}
		ns, err := lease.ChangeNamespace(t.Context(), st, "default",
			lease.NamespaceChange{Scheme: newScheme(t, young), Force: true})
		if err != nil || len(ns.Past) != 1 {
			t.Fatalf("%+v, %v", ns, err)
		}
		made(t, st, young, map[snowfence.ID]bool{}, 5)
		if _, err := change(t, st, "time=41,node=11,seq=11,epoch=1999-01-02"); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("a layout that repeats the one before the forced change: %v", err)
		}
		ns, err = lease.ChangeNamespace(t.Context(), st, "default", lease.NamespaceChange{Scheme: hidden, Force: true})
		if err != nil || len(ns.Past) != 2 {
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
		ns, err = lease.ChangeNamespace(t.Context(), st, "default", lease.NamespaceChange{
			Scheme: newScheme(t, a),
			Force:  true,
		})
		if err != nil || len(ns.Past) != 3 || ns.Past[2].Key != hidden.Fingerprint() {
			t.Errorf("%+v, %v", ns, err)
		}
		if _, err := change(t, st, "time=42,node=10,seq=12,epoch=1999-01-01"); !errors.Is(err, lease.ErrRefused) ||
			!strings.Contains(err.Error(), "encrypted") {
			t.Errorf("an encrypted layout before the last: %v", err)
		}
	})
}

// What is so already is no change: nothing is written, and nobody loses a lease.
func TestChangeToWhatIsSoAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a = "time=41,node=10,seq=12,epoch=1999-01-01"
		st := lease.NewMemory()
		some := snowfence.NodeRange{From: 8, Until: 32}
		want, err := lease.CreateNamespace(t.Context(), st, "default", newScheme(t, a),
			&lease.NamespaceOptions{Nodes: some})
		if err != nil {
			t.Fatal(err)
		}
		r := leased(t, st, newScheme(t, a), lease.Options{}, 0)
		r.next()
		before, held := must(t, st), r.began()
		for name, c := range map[string]lease.NamespaceChange{
			"layout": {Scheme: newScheme(t, a)},
			"nodes":  {Nodes: some},
			"both":   {Scheme: newScheme(t, a), Nodes: some, Widen: true, Unused: time.Now().Add(time.Minute)},
		} {
			ns, err := lease.ChangeNamespace(t.Context(), st, "default", c)
			if err != nil || ns.Generation != want.Generation || ns.First != 8 || ns.Last != 31 ||
				string(must(t, st)) != string(before) {
				t.Errorf("%s: %+v, %v", name, ns, err)
			}
		}
		if _, err := lease.ChangeNamespace(t.Context(), st, "default",
			lease.NamespaceChange{Widen: true}); !errors.Is(err, lease.ErrInvalid) {
			t.Errorf("a change that names nothing: %v", err)
		}
		time.Sleep(time.Minute)
		r.next()
		if now := r.began(); now != held {
			t.Errorf("the holder had %v and has %v", held, now)
		}
		r.stop()
	})
}

// began is where a grant began: its node and tick.
func (r *running) began() [2]int64 {
	g, _ := r.g.Grant()
	return [2]int64{g.Node, g.From}
}

// Nodes that are left to numbers given by hand stay so, whatever else changes. Leasing
// them is asked for in words, and begins above what was made with them.
func TestChangeKeepsNumbersGivenByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a, b, narrow = "time=41,node=10,seq=12,epoch=1999-01-01", "time=42,node=10,seq=12,epoch=1998-01-01",
			"time=42,node=4,seq=18,epoch=1997-01-01"
		st := lease.NewMemory()
		nodes := func(first, until int64) snowfence.NodeRange { return snowfence.NodeRange{From: first, Until: until} }
		if _, err := lease.CreateNamespace(t.Context(), st, "default", newScheme(t, a),
			&lease.NamespaceOptions{Nodes: nodes(0, 32)}); err != nil {
			t.Fatal(err)
		}
		byHand := static(t, newScheme(t, a), 944, 0)
		_, last := byHand.next()
		ns, err := change(t, st, b)
		if err != nil || ns.First != 0 || ns.Last != 31 {
			t.Fatalf("another layout: %+v, %v", ns, err)
		}
		// Nobody ever leased a node, and still the first layout was in use, by hand.
		if len(ns.Past) != 1 || ns.Past[0].Floor <= last.Tick ||
			newScheme(t, b).Layout().TimeOf(ns.Floor).Before(last.Time) {
			t.Errorf("an ID of tick %d was made by hand, and the past is %+v", last.Tick, ns.Past)
		}
		for name, c := range map[string]lease.NamespaceChange{
			"more nodes":                    {Nodes: nodes(0, 1024)},
			"others":                        {Nodes: nodes(31, 33)},
			"more nodes of a new layout":    {Scheme: newScheme(t, a), Nodes: nodes(0, 1024)},
			"numbers used in two hours yet": {Nodes: nodes(0, 1024), Widen: true, Unused: time.Now().Add(2 * time.Hour)},
		} {
			if ns, err := lease.ChangeNamespace(t.Context(), st, "default", c); !errors.Is(err, lease.ErrRefused) {
				t.Errorf("%s: %+v, %v", name, ns, err)
			}
		}
		for name, c := range map[string]lease.NamespaceChange{
			"none that are there": {Nodes: nodes(0, 1025), Widen: true},
			"backwards":           {Nodes: nodes(5, 4)},
			"no room for them":    {Scheme: newScheme(t, narrow)},
		} {
			if ns, err := lease.ChangeNamespace(t.Context(), st, "default", c); !errors.Is(err, lease.ErrInvalid) {
				t.Errorf("%s: %+v, %v", name, ns, err)
			}
		}
		r := leased(t, st, newScheme(t, b), lease.Options{}, 0)
		held := r.began()
		unused := time.Now().Add(10 * time.Second)
		ns, err = lease.ChangeNamespace(t.Context(), st, "default", lease.NamespaceChange{
			Nodes: nodes(0, 1024),
			Widen: true, Unused: unused,
		})
		if err != nil || ns.Last != 1023 || ns.Floor != newScheme(t, b).Layout().TickOf(unused)+1 {
			t.Fatalf("widened: %+v, %v", ns, err)
		}
		r.next() // who holds a lease goes on
		if now := r.began(); now != held {
			t.Errorf("the holder had %v and has %v", held, now)
		}
		r.stop()
		if ns, err = change(t, st, narrow); err != nil || ns.First != 0 || ns.Last != 15 {
			t.Errorf("all nodes of a layout become all of the next: %+v, %v", ns, err)
		}
		ns, err = lease.ChangeNamespace(t.Context(), st, "default", lease.NamespaceChange{Nodes: nodes(0, 1)})
		if err != nil || ns.First != 0 || ns.Last != 0 {
			t.Errorf("node 0 alone: %+v, %v", ns, err)
		}
	})
}

// With fewer nodes, who holds one of the others gives it up.
func TestFewerNodesEndLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a = "time=41,node=2,seq=12,epoch=1999-01-01"
		st := lease.NewMemory()
		if _, err := lease.CreateNamespace(t.Context(), st, "default", newScheme(t, a), nil); err != nil {
			t.Fatal(err)
		}
		r := leased(t, st, newScheme(t, a), lease.Options{Within: snowfence.NodeRange{From: 3, Until: 4}}, 0)
		low := leased(t, st, newScheme(t, a), lease.Options{Within: snowfence.NodeRange{Until: 1}}, 0)
		other := leased(t, st, newScheme(t, a), lease.Options{Within: snowfence.NodeRange{From: 1, Until: 2}}, 0)
		if _, err := lease.ChangeNamespace(t.Context(), st, "default",
			lease.NamespaceChange{Nodes: snowfence.NodeRange{Until: 2}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if id, err := r.g.TryNext(); err == nil {
			t.Errorf("%d was made with a node that cannot be leased any more", id)
		}
		if _, p := other.next(); p.Node > 1 {
			t.Errorf("node %d", p.Node)
		}
		_ = r.g.Close()
		if _, err := lease.ChangeNamespace(t.Context(), st, "default",
			lease.NamespaceChange{Nodes: snowfence.NodeRange{From: 1, Until: 2}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if id, err := low.g.TryNext(); err == nil {
			t.Errorf("%d was made with a node that cannot be leased any more", id)
		}
		if _, p := other.next(); p.Node != 1 {
			t.Errorf("node %d", p.Node)
		}
		_ = low.g.Close()
		other.stop()
	})
}

// A namespace that is made again keeps the nodes that it had. Others than these count as
// used by hand until now.
func TestDeletedAndMadeAgainWithOtherNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a = "time=41,node=10,seq=12,epoch=1999-01-01"
		st, s := lease.NewMemory(), newScheme(t, a)
		again := func(o *lease.NamespaceOptions) lease.Namespace {
			t.Helper()
			ns, err := lease.CreateNamespace(t.Context(), st, "default", s, o)
			if err != nil {
				t.Fatal(err)
			}
			return ns
		}
		again(&lease.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 32}})
		byHand := static(t, s, 944, 0)
		_, last := byHand.next()
		for _, o := range []*lease.NamespaceOptions{nil, {}, {Nodes: snowfence.NodeRange{Until: 32}}} {
			if _, err := lease.DeleteNamespace(t.Context(), st, "default"); err != nil {
				t.Fatal(err)
			}
			if ns := again(o); ns.First != 0 || ns.Last != 31 || ns.Floor != 0 {
				t.Errorf("%+v became %+v", o, ns)
			}
		}
		if _, err := lease.DeleteNamespace(t.Context(), st, "default"); err != nil {
			t.Fatal(err)
		}
		if ns := again(&lease.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 1024}}); ns.Last != 1023 ||
			ns.Floor <= last.Tick {
			t.Errorf("node 944 made an ID of tick %d by hand, and the floor is %d", last.Tick, ns.Floor)
		}
	})
}

// A store that lost grants, and in which nobody has leased a node since, does not know
// how far the layout was used: the new one begins above all that can have been.
func TestChangeInAStoreThatWasReplaced(t *testing.T) {
	for name, c := range map[string]struct{ before, lost time.Duration }{
		"that knew of no lease":   {0, 20 * time.Second},
		"that knew of a long ttl": {2 * time.Minute, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := newScheme(t, "time=41,node=10,seq=12,epoch=1999-01-01"), newScheme(t,
					"time=42,node=10,seq=12,epoch=1998-01-01")
				// The lease's clock is ahead by as much as it may be, and the operator's is behind.
				now := time.Now().Add(c.lost)
				open := func(st lease.Store, ttl, ahead time.Duration) snowfence.Grant {
					node := int64(7)
					l, err := lease.Open(t.Context(), st, "default", a, &lease.Options{
						TTL: ttl, Node: &node,
						Time: clockOff(c.lost + ahead),
					})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(l.Orphan)
					return l.Status().Grant
				}
				st, backup := &timed{lease.NewMemory(), "one", now}, &timed{lease.NewMemory(), "one", now}
				for _, st := range []*timed{st, backup} {
					if _, err := lease.CreateNamespace(t.Context(), st, "default", a, nil); err != nil {
						t.Fatal(err)
					}
					if c.before > 0 {
						open(st, c.before, 0)
					}
				}
				lost := open(st, c.lost, c.lost)
				backup.id = "two"
				ns, err := lease.ChangeNamespace(t.Context(), backup, "default", lease.NamespaceChange{Scheme: b})
				if err != nil {
					t.Fatal(err)
				}
				if len(ns.Past) != 1 || ns.Past[0].Floor < lost.Until || ns.Identity != "two" {
					t.Errorf("ticks until %d were granted, and the past is %+v", lost.Until, ns.Past)
				}
			})
		})
	}
}

// What was made by hand and what was leased both count, whichever reaches further, and
// wherever the nodes for numbers given by hand are.
func TestChangeCountsLeasesAndNumbersGivenByHand(t *testing.T) {
	for name, nodes := range map[string]snowfence.NodeRange{
		"low numbers by hand":  {From: 512, Until: 1024},
		"high numbers by hand": {Until: 512},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := newScheme(t, "time=41,node=10,seq=12,epoch=1999-01-01"), newScheme(t,
					"time=42,node=10,seq=12,epoch=1998-01-01")
				st := lease.NewMemory()
				if _, err := lease.CreateNamespace(t.Context(), st, "default", a,
					&lease.NamespaceOptions{Nodes: nodes}); err != nil {
					t.Fatal(err)
				}
				l, err := lease.Open(t.Context(), st, "default", a, nil)
				if err != nil {
					t.Fatal(err)
				}
				until := l.Status().Grant.Until // 15 seconds ahead
				l.Orphan()
				ns, err := lease.ChangeNamespace(t.Context(), st, "default", lease.NamespaceChange{Scheme: b})
				if err != nil || len(ns.Past) != 1 || ns.Past[0].Floor < until {
					t.Fatalf("leased until %d: %+v, %v", until, ns.Past, err)
				}
				time.Sleep(time.Minute)
				now := time.Now()
				ns, err = lease.ChangeNamespace(t.Context(), st, "default",
					lease.NamespaceChange{Scheme: newScheme(t, "time=42,node=11,seq=11,epoch=1997-01-01")})
				if err != nil || len(ns.Past) != 2 || ns.Past[1].Floor <= b.Layout().TickOf(now) {
					t.Errorf("by hand until %d: %+v, %v", b.Layout().TickOf(now), ns.Past, err)
				}
			})
		})
	}
}

// A layout that comes back before another one made anything goes on: its entry is one.
func TestPastOfOneLayoutIsJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a, b, c = "time=41,node=10,seq=12,epoch=1999-01-01", "time=42,node=10,seq=12,epoch=1998-01-01",
			"time=42,node=11,seq=11,epoch=1997-01-01"
		st, seen := lease.NewMemory(), map[snowfence.ID]bool{}
		if _, err := lease.CreateNamespace(t.Context(), st, "default", newScheme(t, a), nil); err != nil {
			t.Fatal(err)
		}
		made(t, st, a, seen, 5)
		for _, spec := range []string{b, a} {
			if ns, err := change(t, st, spec); err != nil || len(ns.Past) != 1 {
				t.Fatalf("%+v, %v", ns.Past, err)
			}
		}
		time.Sleep(time.Minute)
		made(t, st, a, seen, 5)
		ns, err := change(t, st, c)
		if err != nil || len(ns.Past) != 1 || ns.Past[0].Start != 0 {
			t.Errorf("%+v, %v", ns.Past, err)
		}
	})
}

// Widening never lowers a floor, and asks for its word on either side.
func TestWidenKeepsAHigherFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := lease.NewMemory(), newScheme(t, "time=41,node=10,seq=12,epoch=1999-01-01")
		want, err := lease.CreateNamespace(t.Context(), st, "default", s,
			&lease.NamespaceOptions{Nodes: snowfence.NodeRange{From: 10, Until: 20}})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range []snowfence.NodeRange{{From: 9, Until: 20}, {From: 9, Until: 21}} {
			if _, err := lease.ChangeNamespace(t.Context(), st, "default",
				lease.NamespaceChange{Nodes: r}); !errors.Is(err, lease.ErrRefused) {
				t.Errorf("%+v without a word: %v", r, err)
			}
			ns, err := lease.ChangeNamespace(t.Context(), st, "default", lease.NamespaceChange{
				Nodes: r, Widen: true,
				Unused: time.Now().Add(time.Minute - time.Duration(i)*time.Second),
			})
			if err != nil || ns.Floor <= s.Layout().TickOf(time.Now().Add(59*time.Second)) || ns.Floor < want.Floor {
				t.Errorf("%+v: %+v, %v", r, ns, err)
			}
			want = ns
		}
	})
}
