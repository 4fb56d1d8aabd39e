//go:build unix

package agent

import (
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/wire"
)

// BenchmarkLease takes a node through the socket, and gives it back.
func BenchmarkLease(b *testing.B) {
	r := newRig(b)
	_, c := r.start(r.overStore())
	opening := time.Duration(0)
	for b.Loop() {
		began := time.Now()
		l, err := c.Lease(b.Context(), "jobs", r.s, nil)
		if err != nil {
			b.Fatal(err)
		}
		opening += time.Since(began)
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(opening.Nanoseconds())/float64(b.N), "ns/open")
}

// BenchmarkAcquire is the call alone.
func BenchmarkAcquire(b *testing.B) {
	r := newRig(b)
	_, c := r.start(r.overStore())
	server, asking := c.Server(), time.Duration(0)
	for b.Loop() {
		q := wire.Request{Attempt: world.Real().Text(), Label: "holder", Fingerprint: r.s.Fingerprint()}
		began := time.Now()
		l, err := server.Acquire(b.Context(), "jobs", q)
		if err != nil {
			b.Fatal(err)
		}
		asking += time.Since(began)
		if err := server.Release(b.Context(), l.Ticket, l.Grant.From); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(asking.Nanoseconds())/float64(b.N), "ns/acquire")
}
