package sublet_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/sublet"
	"github.com/snowfence/snowfence/lease/wire"
)

// BenchmarkRenew renews a sublease: what a server does beside
// reading and answering.
func BenchmarkRenew(b *testing.B) {
	l := must(snowfence.ParseLayout("time=32,node=22,seq=9,epoch=2025-01-01,tick=1s"))
	s := must(snowfence.NewScheme(l))
	st := store.NewMemory()
	o := &scope.NamespaceOptions{Unit: 1024, MaxTTL: 90 * time.Second}
	must(scope.Namespaces(st).Create(b.Context(), "default", s, o))
	one := must(lease.Open(b.Context(), st, "default", s, &lease.Options{TTL: 90 * time.Second}))
	defer one.Close()
	sub := must(sublet.New(one, ""))
	a := must(sub.Acquire(b.Context(), "default", wire.Request{Label: "holder", TTL: time.Minute}))
	b.ReportAllocs()
	for i := int64(1_000_000_000_000_000); b.Loop(); i++ {
		attempt := strconv.FormatInt(i, 10)
		a = must(sub.Renew(b.Context(), a.Ticket, attempt, nil))
	}
	b.ReportMetric(float64(len(a.Ticket)), "bytes/ticket")
}
