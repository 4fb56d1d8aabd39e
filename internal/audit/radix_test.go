package audit

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/snowfence/snowfence/internal/draw"
)

func TestSortWords(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		n := t.Int(0, 5000)
		r := rand.New(rand.NewPCG(t.Word(), 3))
		mask := t.Word() // bits that differ
		words := make([]uint64, n)
		for i := range words {
			words[i] = 0x0123456789abcdef&^mask | r.Uint64()&mask
		}
		want := slices.Sorted(slices.Values(words))
		sortWords(words, make([]uint64, draw.One(t, []int{0, 300, 10_000})))
		if !slices.Equal(words, want) {
			t.Fatal("not sorted")
		}
	})
}

func TestOnes(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		words := make([]uint64, t.Int(0, 5000))
		r := rand.New(rand.NewPCG(t.Word(), 4))
		var want ones
		for i := range words {
			words[i] = r.Uint64() | r.Uint64()
			for bit := range want {
				want[bit] += int64(words[i] >> bit & 1)
			}
		}
		var got ones
		got.add(words)
		if got != want {
			t.Fatalf("got %v; want %v", got, want)
		}
	})
}

func BenchmarkSortWords(b *testing.B) {
	words, scratch := make([]uint64, 50_000), make([]uint64, 50_000)
	r := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		b.StopTimer()
		for i := range words {
			words[i] = r.Uint64() >> 11
		}
		b.StartTimer()
		sortWords(words, scratch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(words)), "ns/ID")
}
