package serve

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
)

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
