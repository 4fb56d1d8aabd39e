package audit

import (
	"math"
	"math/big"
	"testing"
)

// Upper percentage points of the chi-square distribution from the tables of NIST's
// Engineering Statistics Handbook, 1.3.6.7.4.
func TestChiSquareTables(t *testing.T) {
	for _, c := range []struct {
		df int
		x  float64
		p  float64
	}{
		{1, 3.841, 0.05},
		{1, 6.635, 0.01},
		{1, 10.828, 0.001},
		{2, 5.991, 0.05},
		{3, 16.266, 0.001},
		{5, 1.145, 0.95},
		{10, 18.307, 0.05},
		{10, 2.558, 0.99},
		{20, 31.410, 0.05},
		{30, 50.892, 0.01},
		{50, 67.505, 0.05},
		{100, 124.342, 0.05},
		{100, 77.929, 0.95},
		{100, 149.449, 0.001},
	} {
		// The tables have three digits behind the point.
		low, high := chiSquareTail(c.x+0.0006, c.df), chiSquareTail(c.x-0.0006, c.df)
		if c.p < low || c.p > high {
			t.Errorf("chi-square %v with %d degrees of freedom: %v to %v; want %v", c.x, c.df, low, high, c.p)
		}
	}
}

// exactQ is Q(n, x) for whole n, which is e^−x Σ x^k/k! over k < n, and for halves by the
// same recurrence from erfc(√x), in 500 bits.
func exactQ(twice int, x float64) float64 {
	const bits = 500
	num := func(v float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(v) }
	// x^a e^−x / Γ(a+1) for a = 0 or 1/2 as the first term; what is too small for a
	// float64 on its own is not when it is summed up.
	a := float64(twice%2) / 2
	sum, term := num(0), num(1)
	if twice%2 == 1 {
		term = num(math.Sqrt(x) / math.Gamma(1.5))
	}
	for ; a < float64(twice)/2; a++ {
		sum.Add(sum, term)
		term.Mul(term, num(x))
		term.Quo(term, num(a+1))
	}
	// e^−x as e^(−x/2^k) squared k times.
	k := 0
	for small := x; small > 1; small /= 2 {
		k++
	}
	e, y := num(1), num(x)
	y.Quo(y, num(math.Pow(2, float64(k))))
	part := num(1)
	for i := 1; i < 100; i++ {
		part.Mul(part, y)
		part.Quo(part, num(-float64(i)))
		e.Add(e, part)
	}
	for range k {
		e.Mul(e, e)
	}
	q, _ := sum.Mul(sum, e).Float64()
	if twice%2 == 1 {
		q += math.Erfc(math.Sqrt(x))
	}
	return q
}

func TestGammaExactly(t *testing.T) {
	for _, twice := range []int{1, 2, 3, 4, 7, 10, 31, 64, 255, 256, 1000, 4095, 65535} {
		a := float64(twice) / 2
		for _, z := range []float64{-6, -3, -1, -0.1, 0, 0.1, 1, 2, 3, 6, 12} {
			x := a + z*math.Sqrt(a)
			if x <= 0 {
				continue
			}
			got, want := gammaQ(a, x), exactQ(twice, x)
			// The logarithms of the scale are numbers of the size of a·log a, with their rounding.
			if tolerance := 1e-15 * (1000 + 20*a*math.Log(a+2)); math.Abs(got-want) > tolerance*want+1e-300 &&
				math.Abs(got-want) > 1e-11*(1-want)+1e-300 {
				t.Errorf("Q(%v, %v) = %v; want %v", a, x, got, want)
			}
		}
	}
}

func TestGammaEdges(t *testing.T) {
	for _, c := range []struct{ a, x, want float64 }{
		{3, 0, 1}, {3, -1, 1}, {3, math.Inf(1), 0}, {127.5, 1e9, 0}, {127.5, 1e-9, 1}, {32767.5, 1e12, 0}, {0.5, 1e-300, 1},
	} {
		if got := gammaQ(c.a, c.x); got != c.want {
			t.Errorf("Q(%v, %v) = %v; want %v", c.a, c.x, got, c.want)
		}
	}
	if p := chiSquareTail(1, 0); !math.IsNaN(p) {
		t.Errorf("without a degree of freedom p is %v", p)
	}
}

func TestNormalTails(t *testing.T) {
	for z, want := range map[float64]float64{0: 1, 1.959964: 0.05, -2.575829: 0.01, 3.290527: 0.001} {
		if got := normalTails(z); math.Abs(got-want) > 1e-7 {
			t.Errorf("%v: %v; want %v", z, got, want)
		}
	}
}
