//go:build linux

package faults

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// pair is two servers over one store, with callers who ask both all the
// time.
type pair struct {
	*testing.T
	web [2]string

	mu    sync.Mutex // of what follows
	seen  map[string]bool
	count [2]int
}

// ask asks a server for IDs until the test ends, and notes them.
func (p *pair) ask(server int) {
	client := http.Client{Timeout: 5 * time.Second}
	for p.Context().Err() == nil {
		time.Sleep(2 * time.Millisecond)
		_, body, err := servers.Ask(p.Context(), &client, http.MethodGet,
			"http://"+p.web[server]+"/v1/default/next?n=20", "", "Accept: text/plain")
		if err != nil {
			continue
		}
		p.mu.Lock()
		for id := range strings.Lines(body) {
			if p.seen[id] {
				p.Errorf("ID %s for the second time, from server %d", id, server)
			}
			p.seen[id] = true
			p.count[server]++
		}
		p.mu.Unlock()
	}
}

// goesOn waits until each server has made more IDs, for longer than a grant
// lasts: so they are of new ones.
func (p *pair) goesOn(what string, of ...int) {
	p.Helper()
	time.Sleep(pairTTL)
	p.mu.Lock()
	before := p.count
	p.mu.Unlock()
	within(p.T, patience, what, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, server := range of {
			if p.count[server] < before[server]+200 {
				return false
			}
		}
		return true
	})
}

const pairTTL = 3 * time.Second

// TestPromotionUnderServers ends a primary and promotes its standby, which
// missed the last grants, under two servers. At full length their clocks
// are 20 seconds apart; then one alone is wrong by as much, which it says,
// and heals.
func TestPromotionUnderServers(t *testing.T) {
	t.Parallel()
	primary := servers.StartPostgres(t)
	database := primary.NewDatabase(t)
	standby := primary.Standby(t)
	store := fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/%s?sslmode=disable&"+
		"target_session_attrs=read-write", primary.Port, standby.Port, database)
	skew := "15s"
	if testing.Short() {
		skew = "1s" // what was lost can lie twice as far ahead
	}
	made := launch(t, "the namespace", nil, snowfencePath(t), "namespace", "create", "default",
		"--max-ttl", pairTTL.String(), "--max-skew", skew, "--store", store)
	<-made.gone
	p := &pair{T: t, seen: map[string]bool{}}
	var processes [2]*worker
	var clocks [2]*stepped
	for i, port := range servers.Ports(t, 2) {
		p.web[i] = servers.Address(port)
		name, args := fmt.Sprint("server ", i), []string{
			"serve", "--store", store, "--http", p.web[i], "--resp", "", "--ttl", pairTTL.String(), "--ready-for", "default",
		}
		if testing.Short() {
			processes[i] = launch(t, name, nil, snowfencePath(t), args...)
			continue
		}
		clocks[i] = launchStepped(t, name, args...)
		clocks[i].step(t, time.Duration(20*i-10)*time.Second)
		processes[i] = clocks[i].worker
	}
	var callers sync.WaitGroup
	t.Cleanup(callers.Wait)
	for i := range p.web {
		callers.Go(func() { p.ask(i) })
	}
	p.goesOn("both servers make IDs", 0, 1)
	standby.StopCleanly(t)
	p.goesOn("IDs go on without the standby", 0, 1)
	primary.Kill()
	standby.Restart(t)
	standby.Up(t)
	standby.Promote(t)
	p.goesOn("both servers make IDs on the promoted standby", 0, 1)
	if testing.Short() {
		return
	}
	clocks[0].step(t, 0)
	m := processes[1].mark()
	clocks[1].step(t, 20*time.Second)
	within(t, patience, "the server with the wrong clock says so", func() bool {
		processes[1].mu.Lock()
		defer processes[1].mu.Unlock()
		return strings.Contains(last(processes[1].log[m.log:], 100), "clock")
	})
	p.goesOn("the other one goes on", 0)
	clocks[1].step(t, 0)
	p.goesOn("both go on when the clock is right", 0, 1)
}
