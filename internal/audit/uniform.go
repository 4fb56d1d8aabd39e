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
	counts []*[3][]int64 // by worker
}

func newUniform(width int, flip uint64) *uniform {
	u := &uniform{width: width, flip: flip, bits: min(wide, width)}
	u.shifts = [3]int{width - u.bits, (width - u.bits) / 2, 0}
	return u
}

// tables makes tables for the given number of workers.
func (u *uniform) tables(workers int) {
	for range workers {
		t := &[3][]int64{}
		for i := range t {
			t[i] = make([]int64, 1<<u.bits)
		}
		u.counts = append(u.counts, t)
	}
}

// add counts words. The mask leaves out bits above the width, of IDs of other
// layouts.
func (u *uniform) add(worker int, words []uint64) {
	t := u.counts[worker]
	high, middle, low := t[0], t[1], t[2]
	mask := uint64(1)<<u.bits - 1
	for _, w := range words {
		id := w ^ u.flip
		high[id>>u.shifts[0]&mask]++
		middle[id>>u.shifts[1]&mask]++
		low[id&mask]++
	}
}

// table returns a table over all workers, by the given number of its highest
// bits.
func (u *uniform) table(which, bits int) []int64 {
	sum := make([]int64, 1<<bits)
	for _, t := range u.counts {
		for i, n := range t[which] {
			sum[i>>(u.bits-bits)] += n
		}
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
			// The table's own highest bits, 8 of 16. For low bits it is the
			// lowest that are wanted.
			table := u.table(which, bits)
			lowest := u.shifts[which] + u.bits - bits
			if which == 2 && bits < u.bits {
				table, lowest = u.lowest(bits), 0
			}
			r.ChiSquare = append(r.ChiSquare, chiSquare(name, lowest, bits, n, table))
		}
	}
	r.Histogram = u.table(0, min(8, u.bits))
	r.Serial = serialTest(n, serial)
	r.Bits = bitTest(n, ones, u.width, u.flip)
	return r
}

// lowest is the table of the lowest bits of IDs.
func (u *uniform) lowest(bits int) []int64 {
	sum := make([]int64, 1<<bits)
	for _, t := range u.counts {
		for i, n := range t[2] {
			sum[i&(1<<bits-1)] += n
		}
	}
	return sum
}

func chiSquare(name string, lowest, bits int, n int64, table []int64) ChiSquare {
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

// serialTest compares the correlation with that of random numbers: −1/(n−1) on
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
