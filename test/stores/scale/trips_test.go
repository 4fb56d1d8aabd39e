package scale

import (
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/kinds"
	"github.com/snowfence/snowfence/test/harness/link"
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
