//go:build linux

package faults

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestClockGlitch steps the clock of a running server for three seconds,
// ahead and behind by up to a day, over a store that has a clock. IDs go on
// at most a ttl after the clock is right again.
func TestClockGlitch(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	tg := targets["PostgreSQL"](t)
	s := slowLayout(t)
	if _, err := scope.Namespaces(tg.store).Create(t.Context(), namespace, s, nil); err != nil {
		t.Fatal(err)
	}
	web := servers.Address(servers.Ports(t, 1)[0])
	p := launchStepped(t, "a server", "serve", "--store", tg.programURL(), "--http", web, "--resp", "",
		"--ready-for", namespace)
	ask := func() { // a request that fails counts as no ID
		_, text, err := servers.Ask(t.Context(), &http.Client{Timeout: time.Second}, http.MethodGet,
			"http://"+web+"/v1/"+namespace+"/next", "", "Accept: text/plain")
		if err != nil {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if err := p.line(strings.TrimSpace(text), time.Now().UnixMicro()); err != nil {
			t.Error(err)
		}
	}
	// goesOn returns how long it takes until there is an ID.
	goesOn := func(what string) time.Duration {
		began, m := time.Now(), p.mark()
		within(t, patience, what, func() bool {
			ask()
			return p.since(m).ids > 0
		})
		return time.Since(began)
	}
	goesOn("the server makes IDs")
	for _, d := range []time.Duration{5 * time.Second, 2 * time.Minute, time.Hour, 24 * time.Hour} {
		for _, by := range []time.Duration{d, -d} {
			before := p.mark()
			p.step(t, by)
			for began := time.Now(); time.Since(began) < 3*time.Second; {
				ask()
			}
			p.step(t, 0)
			healed := goesOn("IDs go on")
			if healed > scope.DefaultTTL {
				t.Errorf("%s for three seconds: IDs go on after %v, a ttl is %v", signed(by), healed, scope.DefaultTTL)
			}
			v := judged(t, s, []*worker{p.worker})
			seen.add(row{
				fault: "the clock of a server is off by " + signed(by) + " for three seconds, the store has one",
				store: tg.kind, processes: 1, ids: int64(p.since(before).ids), twice: v.duplicates,
				silence: p.silence(before), healed: healed, said: last(p.log[before.log:], 1),
			})
			t.Logf("%s: IDs go on after %v", signed(by), healed)
		}
	}
}
