package scale

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease"
)

const (
	nodes = 1 << 17 // of Randflake's layout
	ttl   = time.Minute
)

// BenchmarkScale holds more and more leases of a minute, up to all nodes,
// in each store, and measures their renewals. A renewal takes from when it
// is due until it is acknowledged. One iteration is all there is:
// -benchtime 1x. It writes tables to stdout.
func BenchmarkScale(b *testing.B) {
	var renewals, others []string
	for _, k := range kinds {
		b.Run(k.name, func(b *testing.B) {
			o := k.open(b)
			before := memory()
			f := newFleet(b, o.fresh(b), ttl)
			row := func(n int, opening time.Duration, m measured) {
				renewals = append(renewals, fmt.Sprintf("| %s | %d | %.0f | %.0f | %s | %s | %s | %.0f %% | %s |",
					k.name, n, m.rate, float64(n)/(ttl/3).Seconds(),
					ms(m.p50), ms(m.p99), ms(m.max), 100*m.own, percent(m.server, k.server)))
				fmt.Fprintln(os.Stderr, renewals[len(renewals)-1], opening)
			}
			start := time.Now()
			var opening time.Duration
			for _, n := range []int{1000, 4000, 16_000, 64_000} {
				opening += f.grow(n)
				row(n, opening, f.measure(o, 6*time.Second))
			}
			opening += f.grow(nodes - 1)
			fresh := f.last(1)
			again := f.last(5)
			opening += f.grow(nodes)
			m := f.measure(o, 20*time.Second)
			row(nodes, opening, m)
			f.stored()
			after := memory()
			held := time.Since(start)
			bytes := size(o.dir)
			closing := time.Now()
			f.close()
			others = append(others, fmt.Sprintf("| %s | %s | %s | %s | %s | %.1f s | %.1f s | %.1f kB | %s |",
				k.name, ms(fresh[0]), ms(again[len(again)/2]),
				ms(again[len(again)-1]), fmt.Sprintf("%.0f", float64(nodes)/opening.Seconds()), opening.Seconds(),
				time.Since(closing).Seconds(), float64(after-before)/nodes/1000, megabytes(bytes, held)))
			fmt.Fprintln(os.Stderr, others[len(others)-1])
			b.ReportMetric(m.rate, "renewals/s")
			b.ReportMetric(float64(m.p50)/1e6, "p50-ms")
			b.ReportMetric(float64(m.p99)/1e6, "p99-ms")
			b.ReportMetric(float64(again[len(again)-1])/1e6, "last-node-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
	fmt.Printf("\n| store | leases | renewals/s | due/s | p50 | p99 | longest | CPU of the holders | CPU of the "+
		"server |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n%s\n", strings.Join(renewals, "\n"))
	fmt.Printf("\n| store | last node, never leased | last node, given back: median | longest of 5 | leases "+
		"opened/s | all opened in | all closed in | memory a lease | size of the store "+
		"|\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n%s\n", strings.Join(others, "\n"))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

func percent(of float64, known bool) string {
	if !known {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*of)
}

func megabytes(n int64, after time.Duration) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%d MB after %.0f s", n>>20, after.Seconds())
}

// memory returns what the heap and the stacks of this process hold now.
func memory() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what a finalizer of the first one let go
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// measured are renewals of some time.
type measured struct {
	rate          float64 // a second
	p50, p99, max time.Duration
	own, server   float64 // CPU, in processors
}

// measure watches the leases for a while.
func (f *fleet) measure(o opened, d time.Duration) (m measured) {
	time.Sleep(ttl / 30) // what was late while leases were opened has been done
	var took []time.Duration
	start := time.Now()
	own, server := cpu(os.Getpid()), 0.0
	if o.server != nil {
		server = cpu(o.server.Pid())
	}
	last := f.look()
	for time.Since(start) < d {
		time.Sleep(min(d-time.Since(start), ttl/6)) // well below a third of the ttl, so that none is renewed twice
		now := f.look()
		f.compare(last, now)
		for i, s := range now {
			if s.Renewed.After(last[i].Renewed) {
				took = append(took, s.Took)
			}
		}
		last = now
	}
	seconds := time.Since(start).Seconds()
	m.own = (cpu(os.Getpid()) - own) / seconds
	if o.server != nil {
		m.server = (cpu(o.server.Pid()) - server) / seconds
	}
	if len(took) == 0 {
		f.Fatal("nothing was renewed")
	}
	slices.Sort(took)
	m.rate = float64(len(took)) / seconds
	m.p50, m.p99, m.max = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	return m
}

// last opens the last free node n times, while all others are renewed, and
// returns how long each took, sorted. All but the last time it is given
// back.
func (f *fleet) last(n int) []time.Duration {
	var all []time.Duration
	for i := range n {
		opts := f.opts
		opts.Label = fmt.Sprint("last ", i)
		start := time.Now()
		l, err := lease.Open(f.Context(), f.st, namespace, f.scheme, &opts)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, time.Since(start))
		if err := l.Shutdown(f.Context()); err != nil {
			f.Fatal(err)
		}
	}
	slices.Sort(all)
	return all
}
