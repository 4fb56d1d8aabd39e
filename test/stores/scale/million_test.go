package scale

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/test/harness/kinds"
)

var (
	howMany = flag.Int("holders", 1_000_000, "how many holders BenchmarkMillion has")
	hold    = flag.Duration("hold", 10*time.Minute, "for how long they hold their nodes")
)

const (
	namespace = "scale"
	ttl       = time.Minute
	unit      = 4096
	million   = "time=32,node=22,seq=9,epoch=2025-01-01,tick=1s"
	renewedBy = ttl / 3
)

// In BenchmarkMillion a million holders in one process renew through two
// servers over each store. Half-way, one server is killed. No two holders
// may have a tick of the same node, and no holder may be without a grant.
// It runs one iteration (-benchtime 1x), and writes a table.
func BenchmarkMillion(b *testing.B) {
	fmt.Printf("\n| store | what | figure |\n|---|---|--:|\n")
	for _, kind := range []string{"SQLite", "PostgreSQL", "etcd"} {
		b.Run(kind, func(b *testing.B) {
			note := func(what, format string, args ...any) {
				fmt.Printf("| %s | %s | %s |\n", kind, what, fmt.Sprintf(format, args...))
			}
			server := kinds.Start(b, kind)
			layout, err := snowfence.ParseLayout(million)
			must(b, err)
			s, err := snowfence.NewScheme(layout)
			must(b, err)
			o := &scope.NamespaceOptions{Unit: unit, MaxTTL: ttl * 3 / 2}
			must(b, tests.ErrOf(scope.Namespaces(kinds.New(b, server.URL)).Create(b.Context(), namespace, s, o)))
			p, n := startPair(b, server.URL), *howMany
			w := &watch{TB: b, pair: p}
			life := make(chan struct{})
			w.holders = newHolders(p, layout, n, life)
			defer func() { close(life); w.holders.work.Wait() }()
			w.holders.take(0, min(n/10, 1000)) // so that connections and buffers are there
			before := p.heap(b, 0) + p.heap(b, 1)
			w.begin()
			w.holders.take(min(n/10, 1000), n)
			m := w.end()
			note("holders", "%d", n)
			note("all have a node after", "%.0f s", m.seconds)
			note("heap of the servers a holder", "%.0f bytes", (p.heap(b, 0)+p.heap(b, 1)-before)/float64(n))

			steady := func(when string) {
				w.begin()
				time.Sleep(*hold / 2)
				m := w.end()
				if m.renewed == 0 {
					b.Fatal("nothing was renewed")
				}
				note("renewals a second, "+when, "%.0f of %.0f", float64(m.renewed)/m.seconds,
					float64(n)/renewedBy.Seconds())
				note("processor time of the servers a renewal, "+when, "%.2f µs", m.servers/float64(m.renewed)*1e6)
				w.judge(when, m.seen)
			}
			steady("two servers")
			killed := time.Now()
			p.servers[0].Kill()
			w.first = 1
			w.begin()
			for w.holders.at(0) > 0 && time.Since(killed) < 5*time.Minute {
				time.Sleep(100 * time.Millisecond)
			}
			m = w.end()
			note("a server was killed: all have a node of the other one after", "%.1f s", time.Since(killed).Seconds())
			w.judge("after the kill", seen{twice: m.twice, lost: m.lost})
			note("then holders without a grant, and for how long", "%d, %.1f s", m.gaps, m.longestGap.Seconds())
			steady("one server")
			w.judge("at the end", seen{gaps: w.holders.without()})
			b.ReportMetric(0, "ns/op")
		})
	}
}
