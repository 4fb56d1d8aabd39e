//go:build unix

package redis

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/redisstore"
	"github.com/snowfence/snowfence/test/servers"
)

// nodes is how many leases a store of the benchmarks holds: all nodes of Randflake.
const nodes = 1 << 17

// full returns a store in which all nodes but one are held, and the writes that renew them.
func full(b *testing.B, o *redisstore.Options,
	without int64, options ...string) (*redisstore.Store, *snowfence.Scheme, []store.Write,
) {
	b.Helper()
	master := servers.StartRedis(b, options...)
	if o != nil && o.Replicas > 0 {
		servers.StartRedis(b, options...).Follow(b, master)
	}
	st := newStore(b, single(b, master), o)
	s, err := snowfence.NewScheme(snowfence.MustLayout("randflake-raw"))
	if err != nil {
		b.Fatal(err)
	}
	ns, err := lease.Namespaces(st).Create(b.Context(), namespace, s,
		&lease.NamespaceOptions{Nodes: snowfence.NodeRange{Until: nodes}, MaxTTL: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	until := s.Layout().TickOf(time.Now().Add(time.Hour))
	var writes []store.Write
	for n := range int64(nodes) {
		if n != without {
			writes = append(writes, store.Write{New: store.Record{
				Key: store.Key{Namespace: namespace, Node: n}, Nonce: fmt.Sprintf("nonce%020d", n), Revision: 1,
				Generation: ns.Generation,
				From:       until - 100, Until: until + n%60, Holder: fmt.Sprint("holder", n),
				Label: fmt.Sprint("label", n),
			}})
		}
	}
	for _, err := range st.Swap(b.Context(), writes) {
		if err != nil {
			b.Fatal(err)
		}
	}
	for i := range writes {
		next(&writes[i])
	}
	return st, s, writes
}

var turn atomic.Int64

// next makes a write the renewal of what it wrote before.
func next(w *store.Write) {
	w.Old, w.New.Nonce = w.New.Nonce, fmt.Sprintf("nonce%020d", nodes+turn.Add(1))
	w.New.Revision++
	w.New.Until += 20
}

// BenchmarkSwap renews single records, from as many goroutines as -cpu times 64, which
// rueidis puts into pipelines.
func BenchmarkSwap(b *testing.B) {
	for _, c := range []struct {
		name    string
		o       *redisstore.Options
		options []string
	}{
		{"always", nil, nil},
		{"everysec", nil, []string{"--appendfsync", "everysec"}},
		{"one replica", &redisstore.Options{Replicas: 1}, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			st, _, writes := full(b, c.o, -1, c.options...)
			var at atomic.Int64
			b.SetParallelism(64)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					w := &writes[at.Add(1)%int64(len(writes))]
					if err := st.Swap(b.Context(), []store.Write{*w})[0]; err != nil {
						b.Error(err)
						return
					}
					next(w)
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "renewals/s")
		})
	}
}

// BenchmarkSwapAlone renews one record at a time, from one goroutine: what a single lease
// waits for.
func BenchmarkSwapAlone(b *testing.B) {
	for name, o := range map[string]*redisstore.Options{"always": nil, "one replica": {Replicas: 1}} {
		b.Run(name, func(b *testing.B) {
			st, _, writes := full(b, o, -1)
			took := make([]time.Duration, 0, b.N)
			for b.Loop() {
				w := &writes[turn.Load()%int64(len(writes))]
				start := time.Now()
				if err := st.Swap(b.Context(), []store.Write{*w})[0]; err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
				next(w)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// BenchmarkBatch renews 1,000 records at a time, of 131,072.
func BenchmarkBatch(b *testing.B) {
	for _, o := range []*redisstore.Options{nil, {Replicas: 1}} {
		name := "always"
		if o != nil {
			name = "one replica"
		}
		b.Run(name, func(b *testing.B) {
			st, _, writes := full(b, o, -1)
			at, done := 0, 0
			for b.Loop() {
				batch := writes[at:min(at+1000, len(writes))]
				for _, err := range st.Swap(b.Context(), batch) {
					if err != nil {
						b.Fatal(err)
					}
				}
				for i := range batch {
					next(&batch[i])
				}
				done += len(batch)
				if at += len(batch); at == len(writes) {
					at = 0
				}
			}
			b.ReportMetric(float64(done)/b.Elapsed().Seconds(), "renewals/s")
		})
	}
}

// BenchmarkLastFree leases the only free node among 131,072, one that was never leased or
// was given back before.
func BenchmarkLastFree(b *testing.B) {
	const last = nodes*3/5 + 1
	st, s, _ := full(b, nil, last)
	first := time.Duration(0)
	for b.Loop() {
		start := time.Now()
		l, err := lease.Open(b.Context(), st, namespace, s, &lease.Options{Label: fmt.Sprint("bench", turn.Add(1))})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if first == 0 {
			first = time.Since(start)
		}
		if n := l.Status().Grant.Node; n != last {
			b.Fatalf("leased node %d", n)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	// the first time it has no record, and only counting finds it
	b.ReportMetric(first.Seconds()*1000, "never-leased-ms")
}
