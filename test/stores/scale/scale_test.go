package scale

import (
	"testing"
	"time"
)

// TestFleet renews two thousand leases of one process twice each. None is
// lost, no two hold one node, and the records agree.
func TestFleet(t *testing.T) {
	for _, k := range kinds {
		if k.server {
			continue // the benchmark does it with more
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, k.open(t).fresh(t), 30*time.Second) // far more than renewing takes, also on a busy machine
			f.grow(500)
			f.grow(2000)
			first := f.look()
			renewals := make([]int, len(first))
			last := first
			for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
				now := f.look()
				f.compare(last, now)
				missing := 0
				for i := range now {
					if now[i].Renewed.After(last[i].Renewed) {
						renewals[i]++
					}
					if renewals[i] < 2 {
						missing++
					}
				}
				last = now
				if missing == 0 {
					break
				}
				if time.Since(start) > 5*time.Minute {
					t.Fatalf("%d leases were not renewed twice within five minutes", missing)
				}
			}
			f.stored()
			f.close()
		})
	}
}
