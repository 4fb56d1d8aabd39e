package resp

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// A command that waited for the clock failed by our own cancellation, and
// the client read that.
func TestStopIsTheReasonOfCommandsThatWait(t *testing.T) {
	st := store.NewMemory()
	s := must(snowfence.NewScheme(snowfence.MustLayout("time=31,node=10,seq=2,tick=1s,epoch=2025-01-01")))
	must(scope.Namespaces(st).Create(t.Context(), "default", s, nil))
	service := server.New(st, server.Options{MaxWait: time.Hour, Block: 1})
	t.Cleanup(func() {
		noError(t, service.Close(context.Background()))
	})
	r, addr := start(t, Config{Service: service})
	p := dial(t, addr)
	p.id(p.do("SNOWFENCE.NEXT", "default"))
	p.send(strings.Repeat(encode("SNOWFENCE.NEXT", "default")+encode("PING"), 50))
	for service.Spaces.List()[0].Waits.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	stopped := make(chan error)
	go func() { stopped <- r.Shutdown(context.Background()) }()
	for range 100 {
		if err, ok := p.reply().(error); ok && err.Error() != "TRYAGAIN "+server.ErrStopping.Error() {
			t.Fatalf("a command that waited: %v", err)
		}
	}
	noError(t, <-stopped)
}

// Clients that never pause were cut off in the middle at a stop: each
// command that they send is answered, at last by an error that tells them
// to go.
func TestStopAnswersBusyClients(t *testing.T) {
	s, addr := start(t, Config{})
	s.last = last{silence: time.Minute, runTime: 20 * time.Millisecond, refuseTime: 20 * time.Second}
	var answered, told atomic.Int64
	var all sync.WaitGroup
	for i := range 4 {
		p := dial(t, addr)
		many := 1 + 20*(i%2) // one command at a time, or a pipeline
		all.Go(func() {
			for ended := false; !ended; {
				p.send(strings.Repeat(encode("SNOWFENCE.NEXT", "default"), many))
				for range many {
					switch got := p.reply().(type) { // it fails where the connection ends
					case error:
						if !strings.HasPrefix(got.Error(), "TRYAGAIN") {
							t.Error(got)
						}
						ended = true
					default:
						answered.Add(1)
					}
				}
			}
			told.Add(1)
			p.c.Close()
		})
	}
	idle := dial(t, addr)
	for answered.Load() < 100 || s.Connections.Load() < 5 { // one that waits to be accepted is reset
		time.Sleep(time.Millisecond)
	}
	before := answered.Load()
	go func() { // it is silent, and no stop waits for it longer than for others
		for told.Load() < 4 {
			time.Sleep(time.Millisecond)
		}
		idle.c.Close()
	}()
	noError(t, s.Shutdown(context.Background()))
	all.Wait()
	if told.Load() != 4 || answered.Load() == before {
		t.Errorf("%d of 4 were told to go, after %d more answers", told.Load(), answered.Load()-before)
	}
}
