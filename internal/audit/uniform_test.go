package audit

import (
	"math"
	"testing"
)

// The probabilities are as of the incomplete gamma function.
func TestTails(t *testing.T) {
	for _, c := range []struct {
		df      int
		x, want float64
	}{
		{255, 257.772, 0.439671},
		{255, 312.662, 0.007936},
		{255, 272.508, 0.215476},
		{65535, 65175.8, 0.839436},
		{255, 255 + 4*math.Sqrt(510), 0.000139},
		{65535, 65535 + 5*math.Sqrt(131070), 3.588e-7},
		{255, 0, 1},
	} {
		if got := chiSquareTail(c.x, c.df); math.Abs(got-c.want) > 1e-4 || math.Abs(got-c.want) > c.want/20 {
			t.Errorf("chi-square %v with %d degrees of freedom: %v, want %v", c.x, c.df, got, c.want)
		}
	}
	for z, want := range map[float64]float64{0: 1, 1.959964: 0.05, -2.575829: 0.01, 3.290527: 0.001} {
		if got := normalTails(z); math.Abs(got-want) > 1e-7 {
			t.Errorf("%v: %v; want %v", z, got, want)
		}
	}
}
