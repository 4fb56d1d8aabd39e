// Package link hurts the network between clients and a server.
package link

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

// A Link is the network between clients and a server.
type Link struct {
	Address string // where clients connect to

	proxy *toxiproxy.Proxy
}

// New makes a link to the address of a server. It ends with the test.
func New(t testing.TB, server string) *Link {
	t.Helper()
	l := &Link{}
	s := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	var err error
	for range 5 { // another program may look whether the port is free just now
		l.Address = servers.Address(servers.Ports(t, 1)[0])
		l.proxy = toxiproxy.NewProxy(s, "link", l.Address, server)
		if err = s.Collection.Add(l.proxy, true); err == nil {
			break
		}
	}
	must(t, err)
	t.Cleanup(l.proxy.Stop)
	return l
}

// Cut ends all connections and refuses new ones.
func (l *Link) Cut(t testing.TB) (mend func()) {
	t.Helper()
	l.proxy.Stop()
	return func() { l.start(t) }
}

// start lets connections in again. Another program may look just now
// whether the port is free.
func (l *Link) start(t testing.TB) { fleet.Eventually(t, "the port of the link", l.proxy.Start) }

// Lead lets connections go to another address.
func (l *Link) Lead(t testing.TB, to string) (back func()) {
	t.Helper()
	change := func(to string) (from string) {
		l.proxy.Stop()
		from, l.proxy.Upstream = l.proxy.Upstream, to
		l.start(t)
		return from
	}
	from := change(to)
	return func() { change(from) }
}

// Swallow lets packets vanish: "upstream" the requests, "downstream" the
// replies. Connections stay open.
func (l *Link) Swallow(t testing.TB, directions ...string) (mend func()) {
	t.Helper()
	return l.poison(t, "timeout", `{"timeout": 0}`, directions)
}

// Delay lets packets take a while, each way.
func (l *Link) Delay(t testing.TB, ms, jitter int) (mend func()) {
	t.Helper()
	return l.poison(t, "latency", fmt.Sprintf(`{"latency": %d, "jitter": %d}`, ms, jitter), []string{"upstream", "downstream"})
}

func (l *Link) poison(t testing.TB, kind, attributes string, directions []string) (mend func()) {
	t.Helper()
	var names []string
	for _, d := range directions {
		names = append(names, kind+"_"+d)
		toxic := fmt.Sprintf(`{"name": %q, "type": %q, "stream": %q, "attributes": %s}`, kind+"_"+d, kind, d, attributes)
		must(t, tests.ErrOf(l.proxy.Toxics.AddToxicJson(strings.NewReader(toxic))))
	}
	return func() {
		for _, name := range names {
			if err := l.proxy.Toxics.RemoveToxic(context.Background(), name); err != nil {
				t.Error(err)
			}
		}
	}
}
