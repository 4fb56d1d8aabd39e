//go:build unix

package agent

import "testing"

// BenchmarkLease takes a node through the socket, and gives it back.
func BenchmarkLease(b *testing.B) {
	r := newRig(b)
	_, c := r.start(r.overStore())
	for b.Loop() {
		l, err := c.Lease(b.Context(), "jobs", r.s, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
