package snowfence

import (
	"math/rand/v2"
	"testing"

	"github.com/snowfence/snowfence/internal/clock"
)

// A quotient that is wrong by one would be a tick of another grant, or an ID twice. All
// spans up to 10 bits and those around powers of two; positions around each multiple that
// matters, up to the highest that can be granted.
func TestReciprocalIsExact(t *testing.T) {
	var spans []uint64
	for d := uint64(2); d < 1<<10; d++ {
		spans = append(spans, d)
	}
	for n := 10; n <= maxSequenceBits; n++ {
		for off := uint64(1); off < 8; off++ {
			spans = append(spans, 1<<n-off, 1<<n+off, 1<<n|rand.Uint64N(1<<n))
		}
		spans = append(spans, 1<<n)
	}
	check := func(d, n uint64) {
		track := track{span: d, timeShift: 0, seqShift: 63} // the tick, and the lowest bit of the slot
		track.magic, track.magicShift = clock.Reciprocal(d)
		if got, want := uint64(track.linearID(n)), n/d+n%d<<63; got != want {
			t.Fatalf("%d / %d: %x, want %x", n, d, got, want)
		}
	}
	for _, d := range spans {
		for _, n := range []uint64{0, 1, d - 1, d, d + 1, 2*d - 1, 2 * d, maxPosition, 1<<63 - 1} {
			check(d, n)
		}
		for range 200 {
			n := rand.Uint64N(1<<63/d) * d // a multiple, below 2^63
			check(d, n)
			check(d, n+d-1)
			if n > 0 {
				check(d, n-1)
			}
		}
		last := (1<<63 - 1) / d * d // the highest multiple: where an error is largest
		check(d, last)
		check(d, last-1)
	}
}
