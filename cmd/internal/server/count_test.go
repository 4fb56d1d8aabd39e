package server

import (
	"crypto/rand"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// The alert about nodes that run out was silent while operators vetoed most
// of them.
func TestVetoedNodesCount(t *testing.T) {
	st := store.NewMemory()
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	few := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 4}}
	must(scope.Namespaces(st).Create(t.Context(), "n", s, few))
	service := newService(t, st, Options{})
	for node := range int64(3) {
		must(scope.Namespaces(st).Veto(t.Context(), "n", node, "its rack is on fire"))
	}
	n, err := service.Views.CountNodes(t.Context(), "n")
	if err != nil || n.Held != 3 || n.Leasable != 4 {
		t.Errorf("%d of %d nodes, %v", n.Held, n.Leasable, err)
	}
}

// A unit counts with all its nodes: for the alert about nodes that run out,
// for tokens, and for their limits. What is left of an earlier unit does
// not count.
func TestUnitsCountTheirNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterEpoch()
		st, id := newStore(t, "n"), limited(t, 20, VerbLease)
		s := newService(t, st, Options{})
		take := func(r wire.Request) error {
			r.Label, r.Attempt = "x", rand.Text()
			_, _, err := s.Leases.Acquire(t.Context(), id, "n", r)
			return err
		}
		inner := int64(500)
		noError(t, take(wire.Request{Node: &inner}))
		time.Sleep(time.Minute)
		must(scope.Namespaces(st).Change(t.Context(), "n", nil, &scope.NamespaceOptions{Unit: 8}))
		time.Sleep(time.Minute)
		noError(t, errors.Join(take(wire.Request{Nodes: 8}), take(wire.Request{Nodes: 8})))
		if n, err := s.Views.CountNodes(t.Context(), "n"); err != nil || n.Held != 16 || n.Owners["shop"] != 16 {
			t.Errorf("%+v, %v", n, err)
		}
		wantKind(t, take(wire.Request{Nodes: 8}), TooMuch)
		noError(t, take(wire.Request{}))
		if n, err := s.Views.CountNodes(t.Context(), "n"); err != nil || n.Held != 24 || n.Owners["shop"] != 17 {
			t.Errorf("with a node of a unit of the server: %+v, %v", n, err)
		}
		for _, node := range []int64{-1, math.MaxInt64} {
			out, err := s.Management.ListLeases(t.Context(), &pb.ListLeasesRequest{Namespace: "n", Node: &node})
			if err != nil || len(out.Leases) != 0 {
				t.Errorf("node %d: %v, %v", node, out, err)
			}
		}
		out, err := s.Management.ListLeases(t.Context(), &pb.ListLeasesRequest{Namespace: "n"})
		if err != nil || len(out.Leases) != 3 {
			t.Fatalf("%v, %v", out, err)
		}
		last := out.Leases[1].LastNode
		one, err := s.Management.ListLeases(t.Context(), &pb.ListLeasesRequest{Namespace: "n", Node: &last})
		if err != nil || len(one.Leases) != 1 || one.Leases[0].Node != last-7 {
			t.Errorf("node %d: %v, %v", last, one, err)
		}
	})
}
