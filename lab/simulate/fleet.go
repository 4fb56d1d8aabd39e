package simulate

import (
	"context"
	"math"
	"sync"
	"time"
)

// stretch is how long one run lasts before its faults end: short enough for
// many different worlds, long enough for clocks and floors to get far.
const stretch = 0.2 // hours

// Fleets simulates so many virtual hours, as runs with the seeds from seed
// on, on several goroutines: each run is one goroutine's alone. A shorter
// run of sequences follows each. It ends with the first broken promise,
// which it reduces to the steps that break it, or with ctx.
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
		return &total, Reduce(ctx, broken), nil
	}
	return &total, nil, fail
}

// Limits of Reduce: runs and time.
const (
	reduceRuns = 600
	reduceTime = 30 * time.Second
)

// Reduce makes a run in which a promise is broken shorter while it still
// is: it ends it sooner, leaves out kinds of faults, processes, and single
// faults. It returns nil if nothing is broken in the run, and otherwise the
// broken promise, with the remaining steps.
func Reduce(ctx context.Context, plan Plan) *Collision {
	plan.Trace = false
	runs, begun := 0, time.Now()
	spent := func() bool { return runs > reduceRuns || time.Since(begun) > reduceTime || ctx.Err() != nil }
	numbered := 0 // faults of the shortest run so far
	// attempt reports whether a promise is still broken under p, and then
	// keeps p.
	attempt := func(p Plan) bool {
		if runs++; spent() {
			return false
		}
		f, _, bad, err := Run(ctx, p)
		if bad == nil || err != nil {
			return false
		}
		plan, numbered = p, f.faults
		if !bad.late {
			plan.limit = bad.At + 1
		}
		return true
	}
	if !attempt(plan) {
		return nil
	}
	for half := time.Duration(plan.Hours * float64(time.Hour)); plan.limit == 0 && half > time.Second; half /= 2 {
		p := plan
		p.limit = half
		attempt(p)
	}
	for f := range numFaults {
		p := plan
		p.never[f] = true
		attempt(p)
	}
	for i := range maxSlots {
		p := plan
		p.noSlots = with(plan.noSlots, i, i+1)
		attempt(p)
	}
	for size := 1024; size >= 1; size /= 2 {
		for n := 0; n < numbered && !spent(); n += size {
			p := plan
			p.without = with(plan.without, n, n+size)
			attempt(p)
		}
	}
	plan.Trace = true
	_, _, bad, _ := Run(context.WithoutCancel(ctx), plan)
	return bad
}

// with returns a set with the numbers from lo to hi added.
func with(set map[int]bool, lo, hi int) map[int]bool {
	out := make(map[int]bool, len(set)+hi-lo)
	for n := range set {
		out[n] = true
	}
	for n := lo; n < hi; n++ {
		out[n] = true
	}
	return out
}
