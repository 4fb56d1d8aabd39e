package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// inUnits is a store whose namespace n has units of 8 nodes.
func inUnits(t *testing.T) *slowStore {
	t.Helper()
	st := newStore(t)
	o := &scope.NamespaceOptions{Unit: 8, MaxTTL: 90 * time.Second}
	must(scope.Namespaces(st).Create(t.Context(), "n", scheme(t, "twitter"), o))
	return st
}

// Single nodes of a namespace with units are sublet, and cost the store
// nothing, also while it is unreachable; whole units and fixed nodes are
// leased from the store.
func TestSingleNodesAreSublet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		st, id := inUnits(t), limited(t, 0, VerbLease)
		s := newService(t, st, Options{})
		acquire := func(r wire.Request) Granted {
			t.Helper()
			r.Label, r.Attempt = "x", rand.Text()
			g, _, err := s.Leases.Acquire(t.Context(), id, "n", r)
			noError(t, err)
			return g
		}
		var all []wire.Lease
		for range 5 {
			g := acquire(wire.Request{TTL: 2 * time.Minute})
			if g.Lessor == "" || g.Grant.Nodes != 1 || g.TTL != time.Minute {
				t.Errorf("%+v", g)
			}
			all = append(all, g.Lease)
		}
		if n := heldIn(t, s); n != 1 {
			t.Errorf("%d records are held for 5 nodes", n)
		}
		next := (all[0].Grant.Node&^7 + 8) % 1024
		for _, r := range []wire.Request{{Node: &next}, {Nodes: 8}, {Nodes: 2}} {
			if g := acquire(r); g.Lessor != "" || g.Grant.Nodes != 8 {
				t.Errorf("%+v: %+v", r, g)
			}
		}
		st.fail(errors.New("away"))
		before := st.swaps.Load()
		for range 3 {
			time.Sleep(20 * time.Second)
			for i, l := range all {
				next, _, err := s.Leases.Renew(t.Context(), id, l, rand.Text())
				if err != nil || next.Grant.Node != l.Grant.Node {
					t.Fatalf("without the store: %+v, %v", next, err)
				}
				all[i] = next
			}
		}
		if g := acquire(wire.Request{}); g.Lessor == "" {
			t.Errorf("%+v", g)
		}
		time.Sleep(1500 * time.Millisecond) // the holders are counted each second
		sp := s.Spaces.List()[0]
		if held := sp.Held(); len(held) != 1 || held[0].GetSublet() != 6 || held[0].LastNode != held[0].FirstNode+7 {
			t.Errorf("holds %v", held)
		}
		if n, all := sp.Sublet(); n != 6 || all != 8 {
			t.Errorf("%d of %d nodes are sublet", n, all)
		}
		if st.swaps.Load() == before {
			t.Error("the lessor did not look at its store for a minute")
		}
		time.Sleep(time.Minute)
		if _, _, err := s.Leases.Renew(t.Context(), id, all[0], rand.Text()); KindOf(err) != Unavailable {
			t.Errorf("after the end of the grant: %v", err)
		}
		st.fail(nil)
		time.Sleep(10 * time.Second)
		noError(t, s.Leases.Release(t.Context(), all[0], all[0].Grant.From+1))
		if _, _, err := s.Leases.Renew(t.Context(), id, all[0], rand.Text()); KindOf(err) != Lost {
			t.Errorf("after a release: %v", err)
		}
		noError(t, s.Close(t.Context()))
		for _, r := range leasesOf(t, st) {
			if r.Label == s.Label() && r.Holder != "" {
				t.Errorf("not given back: %+v", r)
			}
		}
	})
}

func leasesOf(t *testing.T, st store.Store) []store.Record {
	t.Helper()
	return must(scope.Namespaces(st).Leases(t.Context(), "n"))
}

// A server counts the nodes that it sublets against the limit of a token,
// also one whose ticket had ended.
func TestLimitOfSubleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		st, id := inUnits(t), limited(t, 2, VerbLease)
		s, second := newService(t, st, Options{}), newService(t, st, Options{})
		take := func(s *Service, id *Identity) (wire.Lease, error) {
			g, _, err := s.Leases.Acquire(t.Context(), id, "n", wire.Request{Label: "x", Attempt: rand.Text()})
			return g.Lease, err
		}
		var all []wire.Lease
		for i := range 3 {
			l, err := take(s, id)
			if (err == nil) != (i < 2) || err != nil && KindOf(err) != TooMuch {
				t.Errorf("node %d: %v", i, err)
			}
			all = append(all, l)
		}
		wantErr(t, errOf(take(second, id)), nil, "at another server")
		noError(t, s.Leases.Release(t.Context(), all[0], all[0].Grant.From))
		l := must(take(s, id))
		time.Sleep(time.Minute) // all have ended
		for range 2 {
			must(take(s, id))
		}
		for n := range 3 { // after the first time, another attempt may have come
			for _, old := range []wire.Lease{l, all[1], l, all[1]} {
				before := slices.Repeat([]string{rand.Text()}, n)
				if _, _, err := s.Leases.Renew(t.Context(), id, old, rand.Text(), before...); KindOf(err) != TooMuch {
					t.Errorf("a ticket that had ended: %v", err)
				}
			}
			if held := must(s.Spaces.Find(t.Context(), "n")).lessor.Held(id.ownsLabel); held != int64(2+min(n, 1)) {
				t.Errorf("%d nodes count: a copy may use that of an attempt", held)
			}
		}
	})
}

// Another layout or unit ends the subleases, and the next ones follow it.
func TestSubleasesFollowTheNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		st, id := inUnits(t), limited(t, 0, VerbLease)
		s := newService(t, st, Options{})
		take := func() (g Granted, err error) {
			g, _, err = s.Leases.Acquire(t.Context(), id, "n", wire.Request{Label: "x", Attempt: rand.Text()})
			return g, err
		}
		g, err := take()
		noError(t, err)
		must(scope.Namespaces(st).Change(t.Context(), "n", nil, &scope.NamespaceOptions{Unit: 1}))
		time.Sleep(10 * time.Second)
		if _, _, err := s.Leases.Renew(t.Context(), id, g.Lease, rand.Text()); KindOf(err) != Lost {
			t.Errorf("after a change of unit: %v", err)
		}
		time.Sleep(3 * time.Minute) // grants begin above those before
		if g, err = take(); err != nil || g.Lessor != "" || g.Grant.Nodes != 1 {
			t.Errorf("%+v, %v", g, err)
		}
	})
}

// A server that was told to use some nodes sublets those. While they have
// room, a request for others leases no unit, but gets one of its own if it
// asks for that.
func TestSubleasesWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		s, id := newService(t, inUnits(t), Options{Within: "1016-1023"}), limited(t, 0, VerbLease)
		for i, c := range []struct {
			within snowfence.NodeRange
			nodes  int
			first  int64 // of those that are leased; -1 for none
		}{
			{first: 1016},
			{snowfence.NodeRange{From: 16, Until: 24}, 1, -1},
			{snowfence.NodeRange{From: 16, Until: 24}, 8, 16},
			{snowfence.NodeRange{From: 1016, Until: 1024}, 1, 1016},
			{first: 1016},
		} {
			g, _, err := s.Leases.Acquire(t.Context(), id, "n",
				wire.Request{Label: fmt.Sprint(i), Attempt: rand.Text(), Within: c.within, Nodes: c.nodes})
			if c.first < 0 && KindOf(err) != KindOf(lease.ErrTaken) {
				t.Errorf("%+v: %+v, %v", c, g, err)
			}
			if c.first >= 0 && (err != nil || g.Grant.Node < c.first || (g.Lessor != "") != (c.nodes < 2)) {
				t.Errorf("%+v: %+v, %v", c, g, err)
			}
		}
	})
}
