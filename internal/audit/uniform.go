package audit

import "math"

// wide is the bits of the larger tables; the smaller ones follow by sums.
const wide = 16

// uniform counts the highest, middle and lowest bits of IDs.
type uniform struct {
	width  int
	flip   uint64
	bits   int // of a table: 16, or as many as IDs have
	shifts [3]int
	counts [3][]int64
}

func newUniform(width int, flip uint64) *uniform {
	u := &uniform{width: width, flip: flip, bits: min(wide, width)}
	u.shifts = [3]int{width - u.bits, (width - u.bits) / 2, 0}
	for i := range u.counts {
		u.counts[i] = make([]int64, 1<<u.bits)
	}
	return u
}

// add counts words. The mask leaves out bits above the width, of IDs of other
// layouts.
func (u *uniform) add(words []uint64) {
	mask := uint64(1)<<u.bits - 1
	for _, w := range words {
		id := w ^ u.flip
		for i, shift := range u.shifts {
			u.counts[i][id>>shift&mask]++
		}
	}
}

// table returns a table by fewer bits: its lowest for the low bits, else its highest.
func (u *uniform) table(which, bits int) []int64 {
	sum := make([]int64, 1<<bits)
	for i, n := range u.counts[which] {
		if which < 2 {
			i >>= u.bits - bits
		}
		sum[i&(1<<bits-1)] += n
	}
	return sum
}

// result computes the tests over n IDs.
func (u *uniform) result(n int64, serial *serial, ones *ones) Uniformity {
	r := Uniformity{Width: u.width}
	if n == 0 || u.width == 0 {
		return r
	}
	for _, bits := range []int{8, wide} {
		if bits > u.bits {
			continue
		}
		for which, name := range []string{"high", "middle", "low"} {
			lowest := u.shifts[which] + u.bits - bits
			if which == 2 {
				lowest = 0
			}
			r.ChiSquare = append(r.ChiSquare, chiSquare(name, lowest, n, u.table(which, bits)))
		}
	}
	r.Histogram = u.table(0, min(8, u.bits))
	r.Serial = serialTest(n, serial)
	r.Bits = bitTest(n, ones, u.width, u.flip)
	return r
}

func chiSquare(name string, lowest int, n int64, table []int64) ChiSquare {
	expected := float64(n) / float64(len(table))
	sum := 0.0
	for _, have := range table {
		d := float64(have) - expected
		sum += d * d
	}
	c := ChiSquare{
		Bits:     name,
		Lowest:   lowest,
		Buckets:  len(table),
		Freedom:  len(table) - 1,
		Value:    sum / expected,
		Expected: expected,
	}
	c.P = chiSquareTail(c.Value, c.Freedom)
	return c
}

// serialTest compares the correlation with the one of random numbers: −1/(n−1) on
// average, with a deviation close to 1/√n.
func serialTest(n int64, s *serial) *Serial {
	r := s.correlation()
	if n < 3 || math.IsNaN(r) || math.IsInf(r, 0) {
		return nil
	}
	z := (r + 1/float64(n-1)) * math.Sqrt(float64(n))
	return &Serial{Correlation: r, P: normalTails(z)}
}

func bitTest(n int64, o *ones, width int, flip uint64) *BitBalance {
	b := &BitBalance{Shares: make([]float64, width)}
	worst := 0.0
	for i := range b.Shares {
		count := o[i]
		if flip>>i&1 == 1 {
			count = n - count
		}
		b.Shares[i] = float64(count) / float64(n)
		if z := math.Abs(2*float64(count)-float64(n)) / math.Sqrt(float64(n)); z > worst {
			worst, b.Worst = z, i
		}
	}
	// The worst of n: the probability that at least one is so far off.
	b.P = -math.Expm1(float64(width) * math.Log1p(-normalTails(worst)))
	if normalTails(worst) >= 1 {
		b.P = 1
	}
	return b
}

// chiSquareTail returns the probability that a chi-square number with df degrees of freedom is
// at least x, by the normal approximation of Wilson and Hilferty. Off by less than 0.0001 from
// 255 degrees on, of which the tables here have no fewer.
func chiSquareTail(x float64, df int) float64 {
	v := 2 / (9 * float64(df))
	return math.Erfc((math.Cbrt(x/float64(df))-(1-v))/math.Sqrt(2*v)) / 2
}

// normalTails returns the probability that a standard normal number is at least
// as far from 0 as z.
func normalTails(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }
