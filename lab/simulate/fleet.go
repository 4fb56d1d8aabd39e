package simulate

import (
	"context"
	"math"
	"sync"
)

// stretch is how long one run lasts before its faults end: short enough for
// many different worlds, long enough for clocks and floors to get far.
const stretch = 0.2 // hours

// Fleets simulates so many virtual hours, as runs with the seeds from seed
// on, on several goroutines: each run is one goroutine's alone. A shorter
// run of sequences follows each. It ends with the first broken promise,
// with the steps that led to it, or with ctx.
func Fleets(ctx context.Context, seed uint64, hours float64, workers int) (*Figures, *Collision, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu    sync.Mutex
		total Figures
		bad   *Collision
		fail  error
		next  = seed
		end   = seed + uint64(max(math.Ceil(hours/stretch), 1))
		wg    sync.WaitGroup

		broken Plan // of bad
	)
	for range max(workers, 1) {
		wg.Go(func() {
			for {
				mu.Lock()
				n := next
				if bad != nil || fail != nil || n >= end {
					mu.Unlock()
					return
				}
				next++
				mu.Unlock()
				plan := Plan{Seed: n, Hours: stretch}
				f, _, c, err := Run(ctx, plan)
				if c == nil && err == nil {
					var numbers *Figures
					plan = Plan{Seed: n, Hours: countingStretch, sequences: true}
					if numbers, _, c, err = Run(ctx, plan); err == nil {
						f.addFigures(numbers)
					}
				}
				mu.Lock()
				if c != nil && (bad == nil || c.Seed < bad.Seed) {
					bad, broken = c, plan
				}
				if err != nil && fail == nil {
					fail = err
				}
				if err == nil {
					total.addFigures(f)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if bad != nil {
		broken.Trace = true
		_, _, bad, _ = Run(context.WithoutCancel(ctx), broken)
		return &total, bad, nil
	}
	return &total, nil, fail
}
