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

// The IDs of a generator, one by one, are its positions taken apart by division.
func TestLinearIDsAreThoseOfPieces(t *testing.T) {
	for _, spec := range []string{
		"drift", "time=47,node=6,seq=10,epoch=2020-02-19T18:20:02Z,first=5",
		"time=39,seq=8,node=16,first=1,tick=10ms", "time=41,node=10,seq=12,first=7,last=9",
		"time=41,node=10,rollback=2,seq=10,last=1000",
	} {
		l, err := ParseLayout(spec)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewScheme(l)
		if err != nil {
			t.Fatal(err)
		}
		h, err := newHold(s, here, Grant{Node: 3, From: 1000, Until: s.MaxTick() + 1}.norm(s.layout), 1000, 1000, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range h.tracks {
			if tr.form != linear {
				t.Fatalf("%s: form %d", spec, tr.form)
			}
			for range 10_000 {
				pos := rand.Uint64N(tr.end.Load())
				if want, _, _ := tr.piece(pos, 1); tr.pieceID(pos) != want {
					t.Fatalf("%s: position %d is %d, want %d", spec, pos, tr.pieceID(pos), want)
				}
			}
		}
	}
}
