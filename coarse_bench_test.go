package snowfence

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkCoarseLateness measures how far behind the true time the timestamps of a
// coarse generator are, beyond the tick they are cut to: on a machine that makes an ID
// now and then, with a processor to spare, and with twice as many goroutines making IDs
// as there are processors.
func BenchmarkCoarseLateness(b *testing.B) {
	for _, c := range []struct {
		name       string
		goroutines int
		pause      time.Duration // before a call that is measured
		between    int           // calls that are not
	}{
		{"idle", 1, 200 * time.Microsecond, 0},
		{"one", 1, 0, 100},
		{"full", 2 * runtime.GOMAXPROCS(0), 0, 100},
	} {
		b.Run(c.name, func(b *testing.B) {
			g := benchGenerator(b, wide, true)
			l := g.Scheme().Layout()
			var mu sync.Mutex
			var all []time.Duration
			var wg sync.WaitGroup
			for range c.goroutines {
				wg.Go(func() {
					ctx := context.Background()
					var late []time.Duration
					for end := time.Now().Add(500 * time.Millisecond); ; {
						// The time is read before the call: a goroutine that loses its
						// processor after it is not the generator's lateness.
						time.Sleep(c.pause)
						before := time.Now()
						id, err := g.Next(ctx)
						if err != nil {
							b.Error(err)
							return
						}
						p, _ := g.Scheme().Decode(id)
						late = append(late, before.Sub(p.Time)-l.Tick)
						for range c.between {
							if _, err := g.Next(ctx); err != nil {
								b.Error(err)
								return
							}
						}
						if time.Now().After(end) {
							break
						}
					}
					mu.Lock()
					all = append(all, late...)
					mu.Unlock()
				})
			}
			wg.Wait()
			slices.Sort(all)
			ms := func(d time.Duration) float64 { return max(d, 0).Seconds() * 1e3 }
			b.ReportMetric(ms(all[len(all)/2]), "p50-ms-late")
			b.ReportMetric(ms(all[len(all)*99/100]), "p99-ms-late")
			b.ReportMetric(ms(all[len(all)-1]), "max-ms-late")
			b.ReportMetric(0, "ns/op")
		})
	}
}
