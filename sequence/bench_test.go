package sequence_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

func fastSequence(b *testing.B) *sequence.Sequence {
	st := store.NewMemory()
	d := sequence.Definition{MinRange: 1_000_000, MaxRange: 100_000_000}
	if err := sequence.Create(b.Context(), st, "bench", d); err != nil {
		b.Fatal(err)
	}
	s, err := sequence.Open(b.Context(), st, "bench", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// spread runs f in so many goroutines, b.N times in all.
func spread(b *testing.B, goroutines int, f func(n int)) {
	b.ReportAllocs()
	var wg sync.WaitGroup
	b.ResetTimer()
	for range goroutines {
		wg.Go(func() { f(b.N / goroutines) })
	}
	wg.Wait()
}

// Compare BenchmarkNext with BenchmarkAtomicAdd with as many goroutines.
func BenchmarkNext(b *testing.B) {
	for _, goroutines := range []int{1, 2} {
		b.Run(string('0'+rune(goroutines)), func(b *testing.B) {
			s, ctx := fastSequence(b), b.Context()
			spread(b, goroutines, func(n int) {
				for range n {
					if _, err := s.Next(ctx); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

func BenchmarkAtomicAdd(b *testing.B) {
	for _, goroutines := range []int{1, 2} {
		b.Run(string('0'+rune(goroutines)), func(b *testing.B) {
			var word atomic.Uint64
			spread(b, goroutines, func(n int) {
				for range n {
					if word.Add(1) == 0 {
						b.Error("over")
					}
				}
			})
		})
	}
}

func BenchmarkLocal(b *testing.B) {
	s, ctx := fastSequence(b), b.Context()
	spread(b, 1, func(n int) {
		l := s.Local()
		for range n {
			if _, err := l.Next(ctx); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkReserve(b *testing.B) {
	s, ctx := fastSequence(b), b.Context()
	spread(b, 1, func(n int) {
		for range n {
			if _, err := s.Reserve(ctx, 10); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
