package serve

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
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
