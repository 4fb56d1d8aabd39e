package load

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/test/harness/kinds"
)

var (
	figures = flag.String("figures", "", "write the figures of BenchmarkHolders to this file")
	holders = flag.Int("holders", 1<<17, "how many holders BenchmarkHolders has")
)

const (
	ttl    = time.Minute
	steady = ttl/3 + 5*time.Second // in which every holder is renewed
)

// BenchmarkHolders has as many holders as Randflake's layout has nodes
// renew through one server over each store, and through a second one after
// the first was killed. One iteration is all there is: -benchtime 1x.
func BenchmarkHolders(b *testing.B) {
	var out strings.Builder
	for _, kind := range []string{"SQLite", "PostgreSQL", "MariaDB", "Redis", "etcd"} {
		b.Run(kind, func(b *testing.B) {
			p := start(b, kinds.Start(b, kind).URL, snowfence.MustLayout("randflake-raw"))
			note := func(what string, x float64) {
				fmt.Fprintf(&out, "holders/%s/%s %.6g\n", kind, what, x)
				fmt.Fprintf(os.Stderr, "holders/%s/%s %.6g\n", kind, what, x)
			}
			n := float64(*holders)
			server := resident(b, p.servers[0].Pid())
			leases, err := p.client.Leases(b.Context(), namespace, p.scheme, *holders,
				&lease.Options{TTL: ttl, Label: "holder"})
			must(b, err)
			w := &watch{TB: b, leases: leases, last: look(leases)}
			cpu := p.servers[0].CPU(b)
			took, d := w.wait(steady)
			note("rate", float64(len(took))/d.Seconds())
			note("p99", took[len(took)*99/100].Seconds())
			note("server-cpu", (p.servers[0].CPU(b)-cpu)/d.Seconds())
			note("server-bytes", (resident(b, p.servers[0].Pid())-server)/n)

			w.wait(2 * time.Second)
			killed := time.Now()
			p.servers[0].Kill()
			for w.behind(killed) > 0 {
				if time.Since(killed) > 2*time.Minute {
					b.Fatalf("%d holders were not renewed in two minutes", w.behind(killed))
				}
				w.wait(time.Second)
			}
			note("again", time.Since(killed).Seconds())
			note("lost", float64(w.lost))
			note("duplicates", float64(w.duplicates))
			if w.duplicates > 0 {
				b.Fatalf("%d nodes were held twice", w.duplicates)
			}
			p.servers[1].Kill() // the holders end with it, and give nothing back: closing them all is another matter
			over, end := context.WithCancel(b.Context())
			end()
			_ = lease.ShutdownAll(over, leases)
			b.ReportMetric(0, "ns/op")
		})
	}
	if *figures != "" {
		must(b, os.WriteFile(*figures, []byte(out.String()), 0o644))
	}
}

// resident returns the bytes of memory that a process occupies.
func resident(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	must(b, err)
	pages, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	must(b, err)
	return pages * float64(os.Getpagesize())
}
