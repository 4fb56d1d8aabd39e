package serve

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/remote"
)

// A clock that steps is one line of the log, and one that runs well is
// none.
func TestClockStepsAreLogged(t *testing.T) {
	for step, want := range map[time.Duration]int{0: 0, -31 * time.Second: 1, time.Hour: 1} {
		var said strings.Builder
		p := &Process{cfg: Config{
			Options: server.Options{Logger: slog.New(slog.NewTextHandler(&said, nil))},
		}.withDefaults()}
		now := time.Now()
		p.clock.wall, p.clock.mono = now.Round(0).Add(-step), now // as if the last look had been before the step
		p.checkClock()
		p.checkClock()
		if n := strings.Count(said.String(), "clock step"); n != want {
			t.Errorf("a step by %v: %s", step, said.String())
		}
	}
}

// After an hour without requests for IDs, a server was ready without a
// lease, and stayed so when it could get none.
func TestReadyServersHaveALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(30 * 365 * 24 * time.Hour) // the clock of a bubble begins before the epoch
		st := newStore(t)
		p := &Process{cfg: Config{}.withDefaults(), service: server.New(st, server.Options{})}
		defer func() {
			noError(t, p.service.Close(context.Background()))
		}()
		for range 2 {
			noError(t, p.readyError(t.Context()))
			sp := p.service.Spaces.List()[0]
			if h, ok := sp.Own.Health(time.Now()); !ok || h.Left == 0 {
				t.Errorf("ready with the lease %+v", h)
			}
			time.Sleep(3 * time.Hour)
			if !sp.Own.Lapsed(time.Now()) {
				t.Fatal("the lease goes on")
			}
		}
		for node := range int64(1024) {
			must(scope.Namespaces(st).Veto(t.Context(), "default", node, "for a test"))
		}
		if p.readyError(t.Context()) == nil {
			t.Error("ready, and no node is free")
		}
	})
}

// An address that cannot be listened on is said with what to do, and
// nothing that was started before it is left.
func TestAddressThatIsTaken(t *testing.T) {
	ln := must(net.Listen("tcp", "127.0.0.1:0"))
	defer ln.Close()
	taken := "another program listens on " + ln.Addr().String()
	for l, want := range map[Listeners]string{
		{HTTP: ln.Addr().String()}:                      "http: " + taken + ": stop it (ss -ltnp names it), or give --http another port",
		{HTTP: "127.0.0.1:0", RESP: ln.Addr().String()}: "resp: " + taken,
		{HTTP: "203.0.113.1:1"}:                         "203.0.113.1:1 is no address of this machine",
		{HTTP: "a..b:0"}:                                "a..b:0: this machine does not know that name: give --http an address",
		{HTTP: "127.0.0.1:x"}:                           `"x" is no port`,
	} {
		c := Config{Listeners: l, Access: Access{OpenToNetwork: []string{"http"}}}
		says(t, errOf(Start(t.Context(), c, store.NewMemory())), want, "")
	}
}

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
