package draw

import (
	"math"
	"testing"
)

// A range gives its ends, its inside and nothing else, also where high -
// low overflows.
func TestRange(t *testing.T) {
	ranges := [][2]int64{
		{0, 0},
		{-1, 1},
		{5, 6},
		{-1 << 40, 1 << 52},
		{math.MinInt64, math.MaxInt64},
		{math.MaxInt64 - 1, math.MaxInt64},
	}
	for _, c := range ranges {
		seen := map[int64]int{}
		Check(t, func(t *T) {
			for range 100 {
				v := t.Range(c[0], c[1])
				if v < c[0] || v > c[1] {
					t.Fatalf("%d is outside of %d", v, c)
				}
				seen[v]++
			}
		})
		if seen[c[0]] == 0 || seen[c[1]] == 0 {
			t.Errorf("%d: the ends came %d and %d times", c, seen[c[0]], seen[c[1]])
		}
	}
}

// The same seed draws the same values, so that its name repeats a failure.
func TestSeedsRepeat(t *testing.T) {
	var drawn [2][]uint64
	for i := range drawn {
		Check(t, func(t *T) { drawn[i] = append(drawn[i], t.Word(), uint64(t.Int(-3, 9)), uint64(len(t.Bytes(0, 9)))) })
	}
	for i, v := range drawn[0] {
		if drawn[1][i] != v {
			t.Fatalf("value %d was %d, and then %d", i, v, drawn[1][i])
		}
	}
	if len(drawn[0]) < 60 {
		t.Errorf("only %d values", len(drawn[0]))
	}
}
