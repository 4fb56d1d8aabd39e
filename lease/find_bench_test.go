package lease_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// searched counts what a search reads of nodes.
type searched struct {
	*store.Memory
	trips, records int
}

func (r *searched) Get(ctx context.Context, keys []store.Key) ([]store.Record, error) {
	if keys[0].Node >= 0 {
		r.trips++
		r.records += len(keys)
	}
	return r.Memory.Get(ctx, keys)
}

func (r *searched) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, error) {
	rs, err := r.Memory.List(ctx, namespace, nodes, limit)
	r.trips++
	r.records += len(rs)
	return rs, err
}

// BenchmarkFind leases one of 131,072 nodes, of which a share is held, and counts what the
// search reads. All nodes were leased before.
func BenchmarkFind(b *testing.B) {
	const nodes = 1 << 17
	s := newScheme(b, "time=41,node=17,seq=5,epoch=2020-01-01")
	for _, free := range []int{nodes, nodes / 2, nodes / 10, nodes / 100, nodes / 1000, 1, 0} {
		b.Run(fmt.Sprintf("free=%d", free), func(b *testing.B) {
			st := &searched{Memory: store.NewMemory()}
			if _, err := lease.Namespaces(st).Create(b.Context(), "n", s, nil); err != nil {
				b.Fatal(err)
			}
			now := s.Layout().TickOf(time.Now())
			var writes []store.Write
			for i, node := range rand.Perm(nodes) {
				r := store.Record{
					Key: store.Key{Namespace: "n", Node: int64(node)}, Nonce: "x", Generation: 1,
					Until: now - int64(i), Label: "other",
				}
				if i >= free {
					r.Holder, r.Until = "other.1", now+1<<30
				}
				writes = append(writes, store.Write{New: r})
			}
			for _, err := range st.Swap(b.Context(), writes) {
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			var sum searched
			for i := 0; b.Loop(); i++ {
				st.trips, st.records = 0, 0
				l, err := lease.Open(b.Context(), st, "n", s, &lease.Options{Label: fmt.Sprint("web-", i)})
				sum.trips, sum.records = sum.trips+st.trips, sum.records+st.records
				if (err == nil) != (free > 0) {
					b.Fatal(err)
				}
				if err == nil {
					if err := l.Close(); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(sum.trips)/float64(b.N), "trips/op")
			b.ReportMetric(float64(sum.records)/float64(b.N), "records/op")
		})
	}
}
