package serve

import (
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/remote"
)

// unitStore is a store whose namespace many has units of 64 nodes.
func unitStore(t *testing.T) store.Store {
	t.Helper()
	st := newStore(t)
	l := must(snowfence.ParseLayout("time=40,node=14,seq=9,epoch=2025-01-01,tick=1ms"))
	s := must(snowfence.NewScheme(l))
	o := &scope.NamespaceOptions{Unit: 64}
	must(scope.Namespaces(st).Create(t.Context(), "many", s, o))
	return st
}

// Holders of a server that is gone get other nodes from another one, and no
// ID comes twice.
func TestHoldersOfALessorThatIsGone(t *testing.T) {
	st := unitStore(t)
	a, _ := start(t, Config{}, st)
	b, _ := start(t, Config{}, st)
	c := must(remote.Dial([]string{"http://" + a.HTTP, "http://" + b.HTTP}, nil))
	s := must(c.Scheme(t.Context(), "many"))
	holders := 3000
	if testing.Short() {
		holders = 100
	}
	ls := must(c.Leases(t.Context(), "many", s, holders, &lease.Options{TTL: 6 * time.Second}))
	var mu sync.Mutex
	seen := map[snowfence.ID]bool{}
	make100 := func(g *snowfence.Generator) {
		for range 100 {
			id, err := g.Next(t.Context())
			mu.Lock()
			if err != nil || seen[id] {
				t.Errorf("%v, which is there already: %v; %v", id, seen[id], err)
			}
			seen[id] = true
			mu.Unlock()
		}
	}
	gens, nodes := make([]*snowfence.Generator, holders), map[int64]bool{}
	for i, l := range ls {
		gens[i] = must(l.Generator(snowfence.Config{MaxWait: patienceOfTests}))
		defer gens[i].Close()
		nodes[l.Status().Grant.Node] = true
		make100(gens[i])
	}
	if len(nodes) != holders {
		t.Fatalf("%d nodes for %d holders", len(nodes), holders)
	}
	for _, h := range a.http { // as a process that dies: it gives nothing back
		_ = h.Close()
	}
	// Each holder goes on from a node of the other server.
	eventually(t, "holders have nodes of the other server", func() bool {
		for _, l := range ls {
			if nodes[l.Status().Grant.Node] {
				return false
			}
		}
		return true
	})
	var all sync.WaitGroup
	for _, g := range gens {
		all.Go(func() { make100(g) })
	}
	all.Wait()
	if len(seen) != 2*100*holders {
		t.Errorf("%d IDs", len(seen))
	}
}
