package scale

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/link"
	"github.com/snowfence/snowfence/test/harness/relay"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// BenchmarkTrips measures how many round trips a renewal waits for: its
// time, where each takes 200 ms.
func BenchmarkTrips(b *testing.B) {
	const way, renewals = 100, 5
	scheme := fleet.Scheme(b, "bwmarrin")
	for _, kind := range []string{"etcd", "Redis", "PostgreSQL", "MariaDB", "Kubernetes", "DynamoDB", "S3"} {
		b.Run(kind, func(b *testing.B) {
			var far *link.Link
			url := ""
			if kind == "Kubernetes" {
				k := servers.StartKubernetes(b)
				far = link.New(b, k.Address())
				url = k.URL(b, far.Address, k.NewNamespace(b))
			} else {
				s := kinds.Start(b, kind)
				far = link.New(b, s.Address)
				url = s.Through(far.Address)
			}
			st := &calls{Store: kinds.New(b, url)}
			l, err := lease.Open(b.Context(), st, "trips", scheme, &lease.Options{Create: true, TTL: 9 * time.Second})
			must(b, err)
			defer l.Close()
			far.Delay(b, way, 0)
			began := st.writes.Load()
			for range 2 { // the first ones open connections
				st.spent.Store(0)
				for began = st.writes.Load(); st.writes.Load() < began+renewals; time.Sleep(10 * time.Millisecond) {
				}
				time.Sleep(time.Second) // until what follows the write is read
			}
			each := float64(st.spent.Load()) / float64(st.writes.Load()-began)
			b.ReportMetric(each/float64(2*way*time.Millisecond), "trips")
		})
	}
}

// calls counts what a lease asks of its store, and the time of it.
type calls struct {
	store.Store
	reads, writes, spent atomic.Int64
}

func (c *calls) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	defer func(at time.Time) { c.spent.Add(int64(time.Since(at))); c.reads.Add(1) }(time.Now())
	return c.Store.Get(ctx, keys)
}

func (c *calls) Swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) ([]error, []store.Record, store.Reply) {
	defer func(at time.Time) { c.spent.Add(int64(time.Since(at))); c.writes.Add(1) }(time.Now())
	return c.Store.Swap(ctx, writes, then...)
}

// BenchmarkBytes counts what one lease with a ttl of a second sends and
// receives while it is renewed b.N times. docs/choose/regions.md has its
// figures.
func BenchmarkBytes(b *testing.B) {
	for _, kind := range []string{"PostgreSQL", "MariaDB", "etcd", "Redis"} {
		b.Run(kind, func(b *testing.B) {
			server := kinds.Start(b, kind)
			var passed atomic.Int64
			count := func(_ *relay.Conn, b []byte) []byte {
				passed.Add(int64(len(b)))
				return b
			}
			way := relay.Start(b, server.Address, count, count)
			c := &calls{Store: kinds.New(b, server.Through(way.Address))}
			s := fleet.Scheme(b, "randflake-raw")
			l, err := lease.Open(b.Context(), c, namespace, s, &lease.Options{Create: true, TTL: time.Second})
			must(b, err)
			renewed := func() int64 { return c.writes.Load() }
			until := func(n int64) {
				for renewed() < n {
					time.Sleep(time.Millisecond)
				}
			}
			until(renewed() + 2) // the first ones prepare statements
			bytes, reads, writes := passed.Load(), c.reads.Load(), renewed()
			until(writes + int64(max(b.N, 20)))
			n := float64(renewed() - writes)
			b.ReportMetric(float64(passed.Load()-bytes)/n, "bytes/renewal")
			b.ReportMetric(float64(c.reads.Load()-reads)/n, "reads/renewal")
			b.ReportMetric(0, "ns/op")
			must(b, l.Shutdown(b.Context()))
		})
	}
}
