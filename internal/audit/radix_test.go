package audit

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSortWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 5000).Draw(t, "n")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		mask := rapid.Uint64().Draw(t, "mask") // bits that differ
		words := make([]uint64, n)
		for i := range words {
			words[i] = 0x0123456789abcdef&^mask | r.Uint64()&mask
		}
		want := slices.Sorted(slices.Values(words))
		sortWords(words, make([]uint64, rapid.SampledFrom([]int{0, 300, 10_000}).Draw(t, "scratch")))
		if !slices.Equal(words, want) {
			t.Fatal("not sorted")
		}
	})
}

func TestOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := make([]uint64, rapid.IntRange(0, 5000).Draw(t, "n"))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 4))
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
