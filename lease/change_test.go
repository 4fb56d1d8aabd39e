package lease_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// change gives the namespace default another layout.
func change(t *testing.T, st store.Store, spec string) (lease.Namespace, error) {
	t.Helper()
	return lease.Namespaces(st).Change(t.Context(), "default", newScheme(t, spec), nil)
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
		st := store.NewMemory()
		nodes := func(first, until int64) snowfence.NodeRange { return snowfence.NodeRange{From: first, Until: until} }
		if _, err := lease.Namespaces(st).Create(t.Context(), "default", newScheme(t, a),
			&lease.NamespaceOptions{Nodes: nodes(0, 32)}); err != nil {
			t.Fatal(err)
		}
		byHand := static(t, newScheme(t, a), 944, 0)
		_, last := byHand.next()
		ns, err := change(t, st, b)
		if err != nil || ns.Nodes != (snowfence.NodeRange{Until: 32}) {
			t.Fatalf("another layout: %+v, %v", ns, err)
		}
		// Nobody ever leased a node, and still the first layout was in use, by hand.
		if len(ns.History()) != 1 || ns.History()[0].Until <= last.Tick ||
			newScheme(t, b).Layout().TimeOf(ns.Floor).Before(last.Time) {
			t.Errorf("an ID of tick %d was made by hand, and the past is %+v", last.Tick, ns.History())
		}
		for name, c := range map[string]struct {
			to   *snowfence.Scheme
			o    lease.NamespaceOptions
			want error
		}{
			"more nodes":                 {nil, lease.NamespaceOptions{Nodes: nodes(0, 1024)}, lease.ErrRefused},
			"others":                     {nil, lease.NamespaceOptions{Nodes: nodes(31, 33)}, lease.ErrRefused},
			"more nodes of a new layout": {newScheme(t, a), lease.NamespaceOptions{Nodes: nodes(0, 1024)}, lease.ErrRefused},
			"numbers used in two hours yet": {
				nil,
				lease.NamespaceOptions{Nodes: nodes(0, 1024), Unused: time.Now().Add(2 * time.Hour)},
				lease.ErrRefused,
			},
			"none that are there": {
				nil, lease.NamespaceOptions{Nodes: nodes(0, 1025), Unused: time.Now()}, lease.ErrInvalid,
			},
			"backwards":        {nil, lease.NamespaceOptions{Nodes: nodes(5, 4)}, lease.ErrInvalid},
			"no room for them": {newScheme(t, narrow), lease.NamespaceOptions{}, lease.ErrInvalid},
		} {
			if ns, err := lease.Namespaces(st).Change(t.Context(), "default", c.to, &c.o); !errors.Is(err, c.want) {
				t.Errorf("%s: %+v, %v", name, ns, err)
			}
			now, err := lease.Namespaces(st).Show(t.Context(), "default")
			if err != nil || now.Generation != ns.Generation {
				t.Errorf("%s: leases are disturbed: %+v, %v", name, now, err)
			}
		}
		r := leased(t, st, newScheme(t, b), lease.Options{}, 0)
		held := r.began()
		unused := time.Now().Add(10 * time.Second)
		ns, err = lease.Namespaces(st).Change(t.Context(), "default", nil,
			&lease.NamespaceOptions{Nodes: nodes(0, 1024), Unused: unused})
		if err != nil || ns.Nodes.Until != 1024 || ns.Floor != newScheme(t, b).Layout().TickOf(unused)+1 {
			t.Fatalf("widened: %+v, %v", ns, err)
		}
		r.next() // who holds a lease goes on
		if now := r.began(); now != held {
			t.Errorf("the holder had %v and has %v", held, now)
		}
		r.stop()
		if ns, err = change(t, st, narrow); err != nil || ns.Nodes != (snowfence.NodeRange{Until: 16}) {
			t.Errorf("all nodes of a layout become all of the next: %+v, %v", ns, err)
		}
		ns, err = lease.Namespaces(st).Change(t.Context(), "default", nil, &lease.NamespaceOptions{Nodes: nodes(0, 1)})
		if err != nil || ns.Nodes != (snowfence.NodeRange{Until: 1}) {
			t.Errorf("node 0 alone: %+v, %v", ns, err)
		}
	})
}

// With fewer nodes, who holds one of the others gives it up.
func TestFewerNodesEndLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a = "time=41,node=2,seq=12,epoch=1999-01-01"
		st := store.NewMemory()
		if _, err := lease.Namespaces(st).Create(t.Context(), "default", newScheme(t, a), nil); err != nil {
			t.Fatal(err)
		}
		r := leased(t, st, newScheme(t, a), lease.Options{Within: snowfence.NodeRange{From: 3, Until: 4}}, 0)
		low := leased(t, st, newScheme(t, a), lease.Options{Within: snowfence.NodeRange{Until: 1}}, 0)
		other := leased(t, st, newScheme(t, a), lease.Options{Within: snowfence.NodeRange{From: 1, Until: 2}}, 0)
		if _, err := lease.Namespaces(st).Change(t.Context(), "default",
			nil, &lease.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 2}}); err != nil {
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
		if _, err := lease.Namespaces(st).Change(t.Context(), "default",
			nil, &lease.NamespaceOptions{Nodes: snowfence.NodeRange{From: 1, Until: 2}}); err != nil {
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

// A store that lost grants, and in which nobody has leased a node since, does not know
// how far the layout was used: the new one begins above all that can have been.
func TestChangeInAStoreThatWasReplaced(t *testing.T) {
	for name, c := range map[string]struct{ before, lost time.Duration }{
		"that knew of no lease": {0, 2 * time.Minute},
		"that knew of one":      {2 * time.Minute, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := newScheme(t, "time=41,node=10,seq=12,epoch=1999-01-01"), newScheme(t,
					"time=42,node=10,seq=12,epoch=1998-01-01")
				// The lease's clock is ahead by as much as it may be, and the operator's is behind.
				now := time.Now().Add(c.lost)
				open := func(st store.Store, ttl, ahead time.Duration) snowfence.Grant {
					node := int64(7)
					l, err := lease.Open(t.Context(), st, "default", a, &lease.Options{
						TTL: ttl, MaxSkew: ttl, Node: &node,
						Time: clockOff(c.lost + ahead),
					})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(l.Orphan)
					return l.Status().Grant
				}
				st, backup := &timed{store.NewMemory(), "one", now}, &timed{store.NewMemory(), "one", now}
				for _, st := range []*timed{st, backup} {
					if _, err := lease.Namespaces(st).Create(t.Context(), "default", a,
						&lease.NamespaceOptions{MaxTTL: c.lost, MaxSkew: c.lost}); err != nil {
						t.Fatal(err)
					}
					if c.before > 0 {
						open(st, c.before, 0)
					}
				}
				lost := open(st, c.lost, c.lost)
				backup.id = "two"
				ns, err := lease.Namespaces(backup).Change(t.Context(), "default", b, nil)
				if err != nil {
					t.Fatal(err)
				}
				if len(ns.History()) != 1 || ns.History()[0].Until < lost.Until || ns.Identity != "two" {
					t.Errorf("ticks until %d were granted, and the past is %+v", lost.Until, ns.History())
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
				st := store.NewMemory()
				if _, err := lease.Namespaces(st).Create(t.Context(), "default", a,
					&lease.NamespaceOptions{Nodes: nodes}); err != nil {
					t.Fatal(err)
				}
				l, err := lease.Open(t.Context(), st, "default", a, nil)
				if err != nil {
					t.Fatal(err)
				}
				until := l.Status().Grant.Until // 15 seconds ahead
				l.Orphan()
				ns, err := lease.Namespaces(st).Change(t.Context(), "default", b, nil)
				if err != nil || len(ns.History()) != 1 || ns.History()[0].Until < until {
					t.Fatalf("leased until %d: %+v, %v", until, ns.History(), err)
				}
				time.Sleep(time.Minute)
				now := time.Now()
				ns, err = lease.Namespaces(st).Change(t.Context(), "default",
					newScheme(t, "time=42,node=11,seq=11,epoch=1997-01-01"), nil)
				if err != nil || len(ns.History()) != 2 || ns.History()[1].Until <= b.Layout().TickOf(now) {
					t.Errorf("by hand until %d: %+v, %v", b.Layout().TickOf(now), ns.History(), err)
				}
			})
		})
	}
}

// Widening never lowers a floor, and asks for its word on either side.
func TestWidenKeepsAHigherFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := store.NewMemory(), newScheme(t, "time=41,node=10,seq=12,epoch=1999-01-01")
		want, err := lease.Namespaces(st).Create(t.Context(), "default", s,
			&lease.NamespaceOptions{Nodes: snowfence.NodeRange{From: 10, Until: 20}})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range []snowfence.NodeRange{{From: 9, Until: 20}, {From: 9, Until: 21}} {
			if _, err := lease.Namespaces(st).Change(t.Context(), "default",
				nil, &lease.NamespaceOptions{Nodes: r}); !errors.Is(err, lease.ErrRefused) {
				t.Errorf("%+v without a word: %v", r, err)
			}
			ns, err := lease.Namespaces(st).Change(t.Context(), "default", nil, &lease.NamespaceOptions{
				Nodes: r, Unused: time.Now().Add(time.Minute - time.Duration(i)*time.Second),
			})
			if err != nil || ns.Floor <= s.Layout().TickOf(time.Now().Add(59*time.Second)) || ns.Floor < want.Floor {
				t.Errorf("%+v: %+v, %v", r, ns, err)
			}
			want = ns
		}
	})
}
