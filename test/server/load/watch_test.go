package load

import (
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// watch looks at many leases.
type watch struct {
	testing.TB
	leases []*lease.Lease
	last   []lease.Status

	duplicates int // nodes with two holders at a time
	lost       int // holders that had to take another grant
}

func look(leases []*lease.Lease) []lease.Status {
	out := make([]lease.Status, len(leases))
	for i, l := range leases {
		out[i] = l.Status()
	}
	return out
}

// wait looks every second for a while, and returns the renewals: how long
// each took, sorted, and when they were.
func (w *watch) wait(d time.Duration) (took []time.Duration, waited time.Duration) {
	w.Helper()
	start := time.Now()
	for time.Since(start) < d {
		time.Sleep(min(d-time.Since(start), time.Second))
		now := look(w.leases)
		holders := make(map[int64]bool, len(now))
		for i, s := range now {
			if s.Held {
				if holders[s.Grant.Node] {
					w.duplicates++
				}
				holders[s.Grant.Node] = true
			}
			if s.Renewed.After(w.last[i].Renewed) {
				took = append(took, s.Took)
			}
			if before := w.last[i].Grant; s.Grant.Node != before.Node || s.Grant.From != before.From {
				w.lost++
			}
		}
		w.last = now
	}
	waited = time.Since(start)
	if len(took) == 0 && d > ttl/3 {
		w.Fatal("nothing was renewed")
	}
	slices.Sort(took)
	return took, waited
}

// behind returns how many holders were not renewed since a moment.
func (w *watch) behind(since time.Time) (n int) {
	for _, s := range w.last {
		if !s.Renewed.After(since) {
			n++
		}
	}
	return n
}
