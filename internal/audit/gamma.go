package audit

import "math"

// chiSquareTail returns the probability that a chi-square number with df degrees
// of freedom is at least x.
func chiSquareTail(x float64, df int) float64 {
	if df <= 0 || math.IsNaN(x) {
		return math.NaN()
	}
	return gammaQ(float64(df)/2, x/2)
}

// gammaQ is the regularised upper incomplete gamma function Q(a, x) = Γ(a,
// x)/Γ(a), for a > 0.
//
// Below a+1 the series of P = 1−Q converges fast, above it the continued fraction
// of Q; both take some √a steps at most. Source: Abramowitz and Stegun, Handbook
// of Mathematical Functions, 6.5.29 and 6.5.31.
func gammaQ(a, x float64) float64 {
	switch {
	case x <= 0:
		return 1
	case math.IsInf(x, 1):
		return 0
	case x < a+1:
		return 1 - gammaSeries(a, x)
	}
	return gammaFraction(a, x)
}

const (
	gammaSteps   = 1 << 20 // never reached for the tables here
	gammaEpsilon = 1e-16
)

// gammaScale is x^a e^−x / Γ(a), by its logarithm.
func gammaScale(a, x float64) float64 {
	lg, _ := math.Lgamma(a)
	return math.Exp(a*math.Log(x) - x - lg)
}

// gammaSeries is P(a, x) = x^a e^−x / Γ(a) · Σ x^n / (a (a+1) … (a+n)).
func gammaSeries(a, x float64) float64 {
	term := 1 / a
	sum := term
	for n := 1; n < gammaSteps; n++ {
		term *= x / (a + float64(n))
		sum += term
		if term < sum*gammaEpsilon {
			break
		}
	}
	return min(1, sum*gammaScale(a, x))
}

// gammaFraction is Q(a, x) by its continued fraction, after W. J. Lentz, I. J.
// Thompson and A. R. Barnett.
func gammaFraction(a, x float64) float64 {
	const tiny = 1e-300
	b := x + 1 - a
	c := 1 / tiny
	d := 1 / b
	h := d
	for i := 1; i < gammaSteps; i++ {
		n := float64(i)
		an := -n * (n - a)
		b += 2
		if d = an*d + b; math.Abs(d) < tiny {
			d = tiny
		}
		if c = b + an/c; math.Abs(c) < tiny {
			c = tiny
		}
		d = 1 / d
		step := d * c
		h *= step
		if math.Abs(step-1) < gammaEpsilon*4 {
			break
		}
	}
	return min(1, h*gammaScale(a, x))
}

// normalTails returns the probability that a standard normal number is at least
// as far from 0 as z.
func normalTails(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }
