package scale

import (
	"crypto/rand"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/test/harness/kinds"
)

var (
	howMany = flag.Int("holders", 1_000_000, "how many holders BenchmarkMillion has")
	hold    = flag.Duration("hold", 10*time.Minute, "for how long they hold their nodes")
)

const (
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
			st := kinds.New(b, server.URL)
			layout, err := snowfence.ParseLayout(million)
			must(b, err)
			s, err := snowfence.NewScheme(layout)
			must(b, err)
			o := &scope.NamespaceOptions{Unit: unit, MaxTTL: ttl * 3 / 2}
			if _, err := scope.Namespaces(st).Create(b.Context(), namespace, s, o); err != nil {
				b.Fatal(err)
			}
			p, n := startPair(b, server.URL), *howMany
			w := &watch{TB: b, pair: p, store: st, server: server.Process}
			c := p.costs(b)
			note("processor time of the server for one renewal / for one ID", "%.1f µs / %.1f µs = %.2f",
				c.one*1e6, c.id*1e6, c.one/c.id)
			note("processor time of the server for one of a hundred renewals in a request", "%.2f µs", c.ofMany*1e6)

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
			note("processor time of the servers an acquisition", "%.0f µs", m.servers/float64(m.acquired)*1e6)
			note("heap of the servers a holder", "%.0f bytes", (p.heap(b, 0)+p.heap(b, 1)-before)/float64(n))

			steady := func(when string) {
				w.begin()
				time.Sleep(*hold / 2)
				m := w.end()
				if len(m.took) == 0 {
					b.Fatal("nothing was renewed")
				}
				note("renewals a second, "+when, "%.0f of %.0f", float64(m.renewed)/m.seconds,
					float64(n)/renewedBy.Seconds())
				note("a request of 100: p50, p99, longest, "+when, "%s, %s, %s", ms(m.took[len(m.took)/2]),
					ms(m.took[len(m.took)*99/100]), ms(m.took[len(m.took)-1]))
				note("processor time of the servers a renewal, "+when, "%.2f µs", m.servers/float64(m.renewed)*1e6)
				note("processor time of holders, servers, store, "+when, "%.0f %%, %.0f %%, %s of a core",
					100*m.own/m.seconds, 100*m.servers/m.seconds, percent(m.store/m.seconds, server.Process != nil))
				note("records written / renewals, "+when, "%d / %d = %.2f %%", m.writes, m.renewed,
					100*float64(m.writes)/float64(m.renewed))
				note("round trips to the store a second, "+when, "%.0f", m.trips/m.seconds)
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
			note("then acquisitions", "%d; answers that are no lease: %v", m.acquired, m.why)
			note("then holders without a grant, and for how long", "%d, %.1f s", m.gaps, m.longestGap.Seconds())
			note("then processor time of the server an acquisition, renewals included", "%.0f µs",
				m.servers/float64(m.acquired)*1e6)
			steady("one server")
			note("holders without a grant at the end", "%d", w.holders.without())
			w.judge("at the end", seen{gaps: w.holders.without()})
			b.ReportMetric(0, "ns/op")
		})
	}
}

// costs are seconds of processor time of a server.
type costs struct{ one, ofMany, id float64 }

// costs measures a renewal in a request of its own, one of a hundred in a
// request, and a request for one ID: one after the other, and in turn,
// because the machine has other work.
func (p *pair) costs(b *testing.B) (c costs) {
	const rounds, each = 10, 3000
	all := &pb.RenewAllRequest{}
	for range together {
		var l pb.Lease
		req := &pb.AcquireRequest{Namespace: namespace, Label: "holder", Attempt: rand.Text()}
		must(b, p.call(0, "LeaseService/Acquire", req, &l))
		all.Renewals = append(all.Renewals, &pb.RenewRequest{Ticket: l.Ticket})
	}
	measure := func(sum *float64, calls, renewals int, do func() error) {
		begin := cpu(p.servers[0].Pid())
		for range calls {
			must(b, do())
		}
		*sum += (cpu(p.servers[0].Pid()) - begin) / rounds / float64(calls*renewals)
	}
	for round := range rounds + 1 {
		measure(&c.one, each, 1, func() error {
			var l pb.Lease
			m := all.Renewals[0]
			m.Attempt = rand.Text()
			err := p.call(0, "LeaseService/Renew", m, &l)
			m.Ticket = l.Ticket
			return err
		})
		measure(&c.ofMany, each/10, together, func() error {
			for _, m := range all.Renewals {
				m.Attempt = rand.Text()
			}
			var out pb.RenewAllResponse
			err := p.call(0, "LeaseService/RenewAll", all, &out)
			for i, r := range out.Renewals {
				all.Renewals[i].Ticket = r.Lease.GetTicket()
			}
			return err
		})
		measure(&c.id, each, 1, func() error {
			return p.call(0, "IDService/Next", &pb.NextRequest{Namespace: namespace, Count: 1}, &pb.NextResponse{})
		})
		if round == 0 { // the first calls open what the others use
			c = costs{}
		}
	}
	return c
}
