//go:build unix

package etcd

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/etcdstore"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	shared "github.com/snowfence/snowfence/test/fleet"
	"github.com/snowfence/snowfence/test/servers"
)

// fill has all nodes of a namespace held but one, by holders that renew every third of a minute.
func fill(b *testing.B, st store.Store, nodes, last int64) (*snowfence.Scheme, []store.Write) {
	b.Helper()
	s, err := snowfence.NewScheme(snowfence.MustLayout("randflake-raw"))
	if err != nil {
		b.Fatal(err)
	}
	ns, err := lease.Namespaces(st).Create(b.Context(), "default", s,
		&lease.NamespaceOptions{Nodes: snowfence.NodeRange{Until: nodes}, MaxTTL: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	until := s.Layout().TickOf(time.Now().Add(time.Hour))
	var writes []store.Write
	for n := range nodes {
		if n != last {
			writes = append(writes, store.Write{New: store.Record{
				Key: store.Key{Namespace: "default", Node: n}, Nonce: fmt.Sprintf("%026d", n), Revision: 1,
				Generation: ns.Generation,
				From:       until - 100, Until: until + n%60, Holder: fmt.Sprintf("%026d", n),
				Label: fmt.Sprintf("host-%d/4711", n), At: time.Now().UnixMilli(),
			}})
		}
	}
	start := time.Now()
	for batch := writes; len(batch) > 0; {
		n := min(1000, len(batch))
		swap(b, st, batch[:n])
		batch = batch[n:]
	}
	b.Logf("%d records written in %v", len(writes), time.Since(start))
	return s, writes
}

// swap makes writes, all of which must be done: again where the server of a busy machine gave up.
func swap(b testing.TB, st store.Store, writes []store.Write) {
	b.Helper()
	left := writes
	shared.Eventually(b, "writes", func() (failed error) {
		var again []store.Write
		for i, err := range st.Swap(b.Context(), left) {
			if err == nil {
				continue
			}
			rs, readErr := st.Get(b.Context(), []store.Key{left[i].New.Key})
			if readErr == nil && rs[0].Nonce == left[i].New.Nonce {
				continue // it was done, and no answer came
			}
			if errors.Is(err, store.ErrLost) {
				b.Fatalf("write %d of %d: %v", i, len(left), err)
			}
			failed, again = err, append(again, left[i])
		}
		left = again
		return failed
	})
}

var nonces atomic.Int64

// renew makes writes that come after others.
func renew(writes []store.Write, ticks int64) {
	for i := range writes {
		w := &writes[i]
		w.Old = w.New.Nonce
		w.New.Nonce = fmt.Sprintf("%026d", 1<<40+nonces.Add(1))
		w.New.Until += ticks
		w.New.Revision++
	}
}

func serve(b *testing.B) *etcdstore.Store {
	// As the package's documentation advises for many leases.
	server := servers.StartEtcd(b, "--auto-compaction-mode=periodic", "--auto-compaction-retention=1m",
		"--quota-backend-bytes=8589934592")
	return openStore(b, servers.EtcdClient(b, server), "bench")
}

// BenchmarkRenew renews leases of 131,072: one after another, by many holders at once,
// and in batches.
func BenchmarkRenew(b *testing.B) {
	st := serve(b)
	const nodes = 1 << 17
	_, writes := fill(b, st, nodes, 0)
	b.Run("single", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			w := writes[i%len(writes):][:1]
			renew(w, 20)
			swap(b, st, w)
		}
	})
	b.Run("64 at once", func(b *testing.B) {
		b.SetParallelism(32)
		var next atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				w := writes[next.Add(1)%int64(len(writes)):][:1]
				renew(w, 20)
				swap(b, st, w)
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "renewals/s")
	})
	b.Run("batches of 1000", func(b *testing.B) {
		n := 0
		for i := 0; b.Loop(); i++ {
			from := i * 1000 % len(writes)
			w := writes[from:min(from+1000, len(writes))]
			renew(w, 20)
			swap(b, st, w)
			n += len(w)
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "renewals/s")
	})
	b.Run("all 131072", func(b *testing.B) {
		for b.Loop() {
			for batch := writes; len(batch) > 0; {
				n := min(1000, len(batch))
				renew(batch[:n], 20)
				swap(b, st, batch[:n])
				batch = batch[n:]
			}
		}
	})
}

// BenchmarkLastFree leases the last free node of 131,072: one that was never leased, one
// that was given back, and one whose holder died.
func BenchmarkLastFree(b *testing.B) {
	st := serve(b)
	const nodes, last = 1 << 17, 1<<16 + 12345
	s, writes := fill(b, st, nodes, last)
	open := func(b *testing.B) *lease.Lease {
		l, err := lease.Open(b.Context(), st, "default", s, &lease.Options{
			Label: fmt.Sprint("bench", nonces.Add(1)),
			TTL:   10 * time.Second,
		})
		if err != nil {
			b.Fatal(err)
		}
		if n := l.Status().Grant.Node; n != last {
			b.Fatalf("leased node %d, want %d", n, last)
		}
		return l
	}
	closed := func(b *testing.B, l *lease.Lease) {
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	key := store.Key{Namespace: "default", Node: last}
	b.Run("never leased", func(b *testing.B) {
		// The first one only, because records never go; so the search alone is measured.
		start := time.Now()
		l := open(b)
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms-first")
		closed(b, l)
	})
	b.Run("given back", func(b *testing.B) {
		for b.Loop() {
			closed(b, open(b))
		}
	})
	b.Run("lapsed", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			rs, err := st.Get(b.Context(), []store.Key{key})
			if err != nil {
				b.Fatal(err)
			}
			r := rs[0]
			w := store.Write{Old: r.Nonce, New: r}
			w.New.Nonce, w.New.Holder, w.New.Until = fmt.Sprint("dead", nonces.Add(1)), "dead",
				s.Layout().TickOf(time.Now().Add(-time.Minute))
			swap(b, st, []store.Write{w})
			b.StartTimer()
			l := open(b)
			b.StopTimer()
			closed(b, l)
			b.StartTimer()
		}
	})
	_ = writes
}
