package linear

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// link is the network between clients and a server.
type link struct {
	address string // for clients
	proxy   *toxiproxy.Proxy
	gate    *gate // behind it
}

func newLink(t *testing.T, server string) *link {
	t.Helper()
	l := &link{address: servers.Address(servers.Ports(t, 1)[0]), gate: newGate(t, server)}
	s := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	l.proxy = toxiproxy.NewProxy(s, "link", l.address, l.gate.address)
	if err := s.Collection.Add(l.proxy, true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.proxy.Stop)
	return l
}

// faults of the network.
func (l *link) faults() []fault {
	return []fault{
		{"connections cut", func(t *testing.T, _ *history, _ *rand.Rand) {
			l.proxy.Stop()
			l.start(t)
		}},
		{"replies lost", func(t *testing.T, _ *history, rnd *rand.Rand) { l.silence(t, rnd, "downstream") }},
		{"requests lost", func(t *testing.T, _ *history, rnd *rand.Rand) { l.silence(t, rnd, "upstream") }},
	}
}

func (l *link) start(t *testing.T) {
	t.Helper()
	if err := l.proxy.Start(); err != nil {
		t.Error(err)
	}
}

// silence drops all bytes of one direction for a moment, and then cuts the
// connections. The dropped bytes never arrive.
func (l *link) silence(t *testing.T, rnd *rand.Rand, direction string) {
	t.Helper()
	toxic := fmt.Sprintf(`{"name": "silence", "type": "timeout", "stream": %q, "attributes": {"timeout": 0}}`, direction)
	if _, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		t.Error(err)
		return
	}
	pause(rnd, 60)
	l.proxy.Stop()
	if err := l.proxy.Toxics.RemoveToxic(t.Context(), "silence"); err != nil {
		t.Error(err)
	}
	l.start(t)
}
