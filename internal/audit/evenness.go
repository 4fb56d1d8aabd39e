package audit

import "math"

// Evenness compares eight bits of the IDs with those of random numbers. IDs
// that hide their time, and random IDs, must be even; others are not.
type Evenness struct {
	Bits   string  `json:"bits"`   // high, middle or low
	Lowest int     `json:"lowest"` // the lowest of these bits
	Value  float64 `json:"chi_square"`
	P      float64 `json:"p"`      // that random numbers are as uneven
	Counts []int64 `json:"counts"` // of IDs, by the value of the bits
}

// Even reports whether the bits pass for random ones: P is not below alpha,
// and not above 1−alpha either, because counters are too even.
func (e Evenness) Even(alpha float64) bool { return e.P >= alpha && e.P <= 1-alpha }

// minExpected is how many IDs each value needs for the chi-square
// approximation: the usual rule.
const minExpected = 5

// evenness counts the highest, middle and lowest eight bits of IDs.
type evenness struct {
	shifts [3]int
	counts [3][256]int64
}

// newEvenness takes how many bits IDs have: at least eight.
func newEvenness(width int) *evenness {
	return &evenness{shifts: [3]int{width - 8, (width - 8) / 2, 0}}
}

// add counts words, which flip makes IDs.
func (e *evenness) add(words []uint64, flip uint64) {
	for _, w := range words {
		id := w ^ flip
		for i, shift := range e.shifts {
			e.counts[i][id>>shift&0xff]++
		}
	}
}

// result computes Pearson's test over n IDs, if there are enough of them.
func (e *evenness) result(n int64) []Evenness {
	list := []Evenness{}
	expected := float64(n) / 256
	if expected < minExpected {
		return list
	}
	for i, name := range []string{"high", "middle", "low"} {
		one := Evenness{Bits: name, Lowest: e.shifts[i], Counts: e.counts[i][:]}
		for _, have := range one.Counts {
			d := float64(have) - expected
			one.Value += d * d / expected
		}
		one.P = chiSquareTail(one.Value)
		list = append(list, one)
	}
	return list
}

// chiSquareTail returns the probability that a chi-square number with 255
// degrees of freedom is at least x, by the normal approximation of Wilson
// and Hilferty, which is off by less than 0.0001.
func chiSquareTail(x float64) float64 {
	const v = 2.0 / (9 * 255)
	return math.Erfc((math.Cbrt(x/255)-(1-v))/math.Sqrt(2*v)) / 2
}
