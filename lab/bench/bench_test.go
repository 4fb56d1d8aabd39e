package bench

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// An entry is one way to make IDs (or, for the bare limits, one thing that
// a way to make IDs cannot do without).
type entry struct {
	name string

	// perOp is the number of IDs in one operation of the benchmark, 1 if
	// zero. A library that waits after so many IDs makes them in whole
	// periods, because only these make a true average.
	perOp int
	waits bool

	// start makes a generator. What it returns is called once in each
	// goroutine and makes its worker, and a worker makes n IDs in a loop of
	// its own: a call through a function value for each ID would cost as
	// much as the fastest of them.
	start func(b *testing.B) (worker func() work)
}

type work func(n int) error

// sink keeps the compiler from leaving out work whose result is not read.
var sink atomic.Uint64

func BenchmarkID(b *testing.B) {
	if runtime.GOMAXPROCS(0) < 2 || runtime.NumCPU() < 2 {
		b.Fatal("needs two cores")
	}
	entries := limits
	entries = append(entries, others...)
	entries = append(entries, ours...)
	measured := map[string]float64{} // of the last and longest try
	for _, e := range entries {
		for _, goroutines := range []int{1, 2} {
			b.Run(fmt.Sprintf("name=%s/goroutines=%d", e.name, goroutines), func(b *testing.B) {
				name := fmt.Sprintf("id/%s/%d", e.name, goroutines)
				measured[name] = e.measure(b, goroutines)
			})
		}
	}
	writeFigures(b, measured)
}

// writeFigures adds figures to the file of -figures.
func writeFigures(tb testing.TB, measured map[string]float64) {
	if *figures == "" {
		return
	}
	f := must(os.OpenFile(*figures, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644))
	defer f.Close()
	for name, x := range measured {
		must(fmt.Fprintf(f, "%s %.6g\n", name, x))
	}
}

// measure returns the wall time of an ID, whichever goroutine made it.
func (e entry) measure(b *testing.B, goroutines int) float64 {
	perOp := max(e.perOp, 1)
	newWorker := e.start(b)
	workers := make([]work, goroutines)
	for i := range workers {
		workers[i] = newWorker()
	}

	if e.waits {
		// Use up what a fresh generator has in store, and get in step with
		// its periods.
		noError(b, workers[0](2*perOp))
	}

	ids := b.N * perOp
	b.ResetTimer()
	err := together(workers, ids)
	b.StopTimer()
	noError(b, err)
	ns := float64(b.Elapsed().Nanoseconds()) / float64(ids)
	b.ReportMetric(ns, "ns/ID")
	return ns
}

// together makes n IDs with all workers at once.
func together(workers []work, n int) error {
	if len(workers) == 1 {
		return workers[0](n)
	}
	var wg sync.WaitGroup
	errs := make([]error, len(workers))
	for i, w := range workers {
		share := n / len(workers)
		if i == 0 {
			share += n % len(workers)
		}
		wg.Go(func() { errs[i] = w(share) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
