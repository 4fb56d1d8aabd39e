package bench

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

var (
	figures = flag.String("figures", "", "add the figures to this file")
	rounds  = flag.Int("rounds", 10, "how many rounds BenchmarkSequence has")
)

// wide has ranges that outlast a measurement.
var wide = sequence.Definition{MinRange: 1e9, MaxRange: 1e9}

// counter opens a new sequence.
func counter(b *testing.B) *sequence.Sequence {
	st := store.NewMemory()
	noError(b, sequence.Create(b.Context(), st, "bench", wide))
	s := must(sequence.Open(b.Context(), st, "bench", nil))
	b.Cleanup(func() { s.Close() })
	return s
}

// The ways to take a number of a sequence.
var counted = []entry{
	{name: "next", start: func(b *testing.B) func() work {
		s := counter(b)
		return func() work {
			ctx := b.Context()
			return func(n int) error {
				var x int64
				for range n {
					number, err := s.Next(ctx)
					if err != nil {
						return err
					}
					x ^= number
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}},
	{name: "local", start: func(b *testing.B) func() work {
		s := counter(b)
		return func() work {
			l, ctx := s.Local(), b.Context()
			return func(n int) error {
				var x int64
				for range n {
					number, err := l.Next(ctx)
					if err != nil {
						return err
					}
					x ^= number
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}},
}

// BenchmarkSequence compares the numbers of a sequence with an atomic add,
// in slices of some milliseconds that take turns. Each goroutine has a core
// of its own, and its processor time counts: so the ratios hold on a
// machine that does something else, too.
func BenchmarkSequence(b *testing.B) {
	add := limits[0]
	for range *rounds {
		for _, e := range counted {
			for goroutines := 1; goroutines <= 2; goroutines++ {
				b.Run(fmt.Sprintf("name=%s/goroutines=%d", e.name, goroutines), func(b *testing.B) {
					mine, theirs := workersOf(b, e, goroutines), workersOf(b, add, goroutines)
					var ns, addNS time.Duration
					for range turns {
						ns += pinned(b, mine)
						addNS += pinned(b, theirs)
					}
					numbers := float64(turns * perSlice)
					what := fmt.Sprintf("sequence/%s-%d/", e.name, goroutines)
					writeFigures(b, map[string]float64{
						what + "ns": float64(ns) / numbers, what + "add": float64(addNS) / numbers,
						what + "times": float64(ns) / float64(addNS),
					})
					b.ReportMetric(float64(ns)/float64(addNS), "×add")
				})
			}
		}
	}
}

const (
	turns    = 20
	perSlice = 1_000_000 // numbers, of all goroutines
)

func workersOf(b *testing.B, e entry, goroutines int) (out []work) {
	worker := e.start(b)
	for range goroutines {
		out = append(out, worker())
	}
	return out
}

// pinned returns the processor time of a slice, divided by the goroutines.
func pinned(b *testing.B, workers []work) time.Duration {
	took := make([]time.Duration, len(workers))
	ready := make(chan struct{})
	var at, wg sync.WaitGroup
	at.Add(len(workers))
	for core, w := range workers {
		wg.Go(func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			mask := [16]uint64{1 << core}
			if _, _, no := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(mask),
				uintptr(unsafe.Pointer(&mask))); no != 0 {
				b.Error(no)
			}
			at.Done()
			<-ready
			began := processorTime()
			if err := w(perSlice / len(workers)); err != nil {
				b.Error(err)
			}
			took[core] = processorTime() - began
		})
	}
	at.Wait()
	close(ready)
	wg.Wait()
	var all time.Duration
	for _, d := range took {
		all += d
	}
	return all / time.Duration(len(workers))
}

// processorTime is the time of the present thread.
func processorTime() time.Duration {
	const thread = 3 // CLOCK_THREAD_CPUTIME_ID
	var ts syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, thread, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}
