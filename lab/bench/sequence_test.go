package bench

import (
	"context"
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
	if err := sequence.Create(b.Context(), st, "bench", wide); err != nil {
		b.Fatal(err)
	}
	s, err := sequence.Open(b.Context(), st, "bench", nil)
	if err != nil {
		b.Fatal(err)
	}
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
	{name: "any", start: func(b *testing.B) func() work {
		stores := []store.Store{store.NewMemory(), store.NewMemory(), store.NewMemory()}
		for i, st := range stores {
			d := wide
			d.Start, d.Step = new(int64(i+1)), 5
			if err := sequence.Create(b.Context(), st, "bench", d); err != nil {
				b.Fatal(err)
			}
		}
		a, err := sequence.OpenAny(b.Context(), stores, "bench", nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { a.Close() })
		return func() work {
			ctx := b.Context()
			return func(n int) error {
				var x int64
				for range n {
					number, err := a.Next(ctx)
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

// BenchmarkSequence compares the numbers of a sequence with an atomic add, in slices of some
// milliseconds that take turns. Each goroutine has a core of its own, and its processor time
// counts: so the ratios hold on a machine that does something else, too.
func BenchmarkSequence(b *testing.B) {
	add := limits[0]
	for range *rounds {
		for _, e := range counted {
			for goroutines := 1; goroutines <= 2; goroutines++ {
				b.Run(fmt.Sprintf("name=%s/goroutines=%d", e.name, goroutines), func(b *testing.B) {
					mine, theirs := workersOf(b, e, goroutines), workersOf(b, add, goroutines)
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					var ns, addNS time.Duration
					for range turns {
						ns += pinned(b, mine)
						addNS += pinned(b, theirs)
					}
					runtime.ReadMemStats(&after)
					numbers := float64(turns * perSlice)
					what := fmt.Sprintf("sequence/%s-%d/", e.name, goroutines)
					writeFigures(b, map[string]float64{
						what + "ns": float64(ns) / numbers, what + "add": float64(addNS) / numbers,
						what + "times":  float64(ns) / float64(addNS),
						what + "allocs": float64((after.Mallocs - before.Mallocs) / (turns * perSlice)),
					})
					b.ReportMetric(float64(ns)/float64(addNS), "×add")
				})
			}
		}
	}
	b.Run("name=waits", func(b *testing.B) {
		writeFigures(b, map[string]float64{"sequence/waits": float64(waits(b))})
	})
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

// stalling is a store that takes 0.2 s for each write.
type stalling struct{ store.Store }

func (s stalling) Add(ctx context.Context, a store.Addition) (store.Record, error) {
	time.Sleep(200 * time.Millisecond)
	return store.Add(ctx, s.Store, a)
}

func (s stalling) Swap(ctx context.Context, writes []store.Write) []error {
	time.Sleep(200 * time.Millisecond)
	return s.Store.Swap(ctx, writes)
}

// waits returns how many calls of 60 million in a minute would have had to wait for the store,
// after 5 seconds in which the ranges grow.
func waits(b *testing.B) (count int) {
	st := stalling{store.NewMemory()}
	if err := sequence.Create(b.Context(), st, "bench", sequence.Definition{}); err != nil {
		b.Fatal(err)
	}
	s, err := sequence.Open(b.Context(), st, "bench", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	began := time.Now()
	for taken := 0; taken < 65_000_000; {
		due := int(time.Since(began).Microseconds())
		for ; taken < due; taken++ {
			if _, err := s.TryNext(); err != nil && taken > 5_000_000 {
				count++
			}
		}
		time.Sleep(time.Millisecond)
	}
	return count
}
