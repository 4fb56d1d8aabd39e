package scope_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// change gives the namespace default another layout.
func change(t *testing.T, st store.Store, spec string) (scope.Namespace, error) {
	t.Helper()
	return scope.Namespaces(st).Change(t.Context(), "default", newScheme(t, spec), nil)
}

// began is where a grant began: its node and tick.
func (r *running) began() [2]int64 {
	g, _ := r.g.Grant()
	return [2]int64{g.Node, g.From}
}

// Nodes that are left to numbers given by hand stay so, whatever else
// changes. Leasing them is asked for in words, and begins above what was
// made with them.
func TestChangeKeepsNumbersGivenByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a, b, narrow = "time=41,node=10,seq=12,epoch=1999-01-01", "time=42,node=10,seq=12,epoch=1998-01-01",
			"time=42,node=4,seq=18,epoch=1997-01-01"
		st := store.NewMemory()
		nodes := func(first, until int64) snowfence.NodeRange { return snowfence.NodeRange{From: first, Until: until} }
		must(scope.Namespaces(st).Create(t.Context(), "default", newScheme(t, a),
			&scope.NamespaceOptions{Nodes: nodes(0, 32)}))
		byHand := static(t, newScheme(t, a), 944, 0)
		_, last := byHand.next()
		ns, err := change(t, st, b)
		if err != nil || ns.Nodes != (snowfence.NodeRange{Until: 32}) {
			t.Fatalf("another layout: %+v, %v", ns, err)
		}
		// No node was ever leased, and still the first layout was in use,
		// by hand.
		if len(ns.History()) != 1 || ns.History()[0].Until <= last.Tick ||
			newScheme(t, b).Layout().TimeOf(ns.Floor).Before(last.Time) {
			t.Errorf("an ID of tick %d was made by hand, and the past is %+v", last.Tick, ns.History())
		}
		for name, c := range map[string]struct {
			to   *snowfence.Scheme
			o    scope.NamespaceOptions
			want error
		}{
			"more nodes":                 {nil, scope.NamespaceOptions{Nodes: nodes(0, 1024)}, lease.ErrRefused},
			"others":                     {nil, scope.NamespaceOptions{Nodes: nodes(31, 33)}, lease.ErrRefused},
			"more nodes of a new layout": {newScheme(t, a), scope.NamespaceOptions{Nodes: nodes(0, 1024)}, lease.ErrRefused},
			"numbers used in two hours yet": {
				nil,
				scope.NamespaceOptions{Nodes: nodes(0, 1024), Unused: time.Now().Add(2 * time.Hour)},
				lease.ErrRefused,
			},
			"none that are there": {
				nil, scope.NamespaceOptions{Nodes: nodes(0, 1025), Unused: time.Now()}, lease.ErrInvalid,
			},
			"backwards":        {nil, scope.NamespaceOptions{Nodes: nodes(5, 4)}, lease.ErrInvalid},
			"no room for them": {newScheme(t, narrow), scope.NamespaceOptions{}, lease.ErrInvalid},
		} {
			wantErr(t, errOf(scope.Namespaces(st).Change(t.Context(), "default", c.to, &c.o)), c.want, "%s", name)
			now, err := scope.Namespaces(st).Show(t.Context(), "default")
			if err != nil || now.Generation != ns.Generation {
				t.Errorf("%s: leases are disturbed: %+v, %v", name, now, err)
			}
		}
		r := leased(t, st, newScheme(t, b), lease.Options{}, 0)
		held := r.began()
		unused := time.Now().Add(10 * time.Second)
		ns, err = scope.Namespaces(st).Change(t.Context(), "default", nil,
			&scope.NamespaceOptions{Nodes: nodes(0, 1024), Unused: unused})
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
		ns, err = scope.Namespaces(st).Change(t.Context(), "default", nil, &scope.NamespaceOptions{Nodes: nodes(0, 1)})
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
		must(scope.Namespaces(st).Create(t.Context(), "default", newScheme(t, a), nil))
		r := leased(t, st, newScheme(t, a), lease.Options{Within: snowfence.NodeRange{From: 3, Until: 4}}, 0)
		low := leased(t, st, newScheme(t, a), lease.Options{Within: snowfence.NodeRange{Until: 1}}, 0)
		other := leased(t, st, newScheme(t, a), lease.Options{Within: snowfence.NodeRange{From: 1, Until: 2}}, 0)
		must(scope.Namespaces(st).Change(t.Context(), "default",
			nil, &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 2}}))
		time.Sleep(time.Minute)
		if id, err := r.g.TryNext(); err == nil {
			t.Errorf("%d was made with a node that cannot be leased any more", id)
		}
		if _, p := other.next(); p.Node > 1 {
			t.Errorf("node %d", p.Node)
		}
		_ = r.g.Close()
		must(scope.Namespaces(st).Change(t.Context(), "default",
			nil, &scope.NamespaceOptions{Nodes: snowfence.NodeRange{From: 1, Until: 2}}))
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

// Widening never lowers a floor, and asks for its word on either side.
func TestWidenKeepsAHigherFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := store.NewMemory(), newScheme(t, "time=41,node=10,seq=12,epoch=1999-01-01")
		want := must(scope.Namespaces(st).Create(t.Context(), "default", s,
			&scope.NamespaceOptions{Nodes: snowfence.NodeRange{From: 10, Until: 20}}))
		for i, r := range []snowfence.NodeRange{{From: 9, Until: 20}, {From: 9, Until: 21}} {
			if _, err := scope.Namespaces(st).Change(t.Context(), "default",
				nil, &scope.NamespaceOptions{Nodes: r}); !errors.Is(err, lease.ErrRefused) {
				t.Errorf("%+v without a word: %v", r, err)
			}
			ns, err := scope.Namespaces(st).Change(t.Context(), "default", nil, &scope.NamespaceOptions{
				Nodes: r, Unused: time.Now().Add(time.Minute - time.Duration(i)*time.Second),
			})
			if err != nil || ns.Floor <= s.Layout().TickOf(time.Now().Add(59*time.Second)) || ns.Floor < want.Floor {
				t.Errorf("%+v: %+v, %v", r, ns, err)
			}
			want = ns
		}
	})
}
