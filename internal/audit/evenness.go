package audit

// Uniformity compares the IDs with random numbers. Each P is the probability that
// random numbers are at least as uneven. IDs that hide their time must be even,
// and random ones; others are not.
type Uniformity struct {
	Width     int         `json:"width"` // bits that were looked at: the layout's, or those in use
	ChiSquare []ChiSquare `json:"chi_square"`
	Serial    *Serial     `json:"serial,omitempty"` // nil for fewer than three IDs, and when all are the same
	Bits      *BitBalance `json:"bits,omitempty"`
	Histogram []int64     `json:"histogram"` // of the highest eight bits
}

// ChiSquare is Pearson's test that all values of some bits are equally frequent.
type ChiSquare struct {
	Bits     string  `json:"bits"`   // high, middle or low
	Lowest   int     `json:"lowest"` // the lowest of these bits
	Buckets  int     `json:"buckets"`
	Freedom  int     `json:"degrees_of_freedom"`
	Value    float64 `json:"chi_square"`
	Expected float64 `json:"expected"` // IDs in each bucket; P says little if there are fewer than five
	P        float64 `json:"p"`
}

// Serial is the correlation of IDs with the ones after them.
type Serial struct {
	Correlation float64 `json:"correlation"`
	P           float64 `json:"p"`
}

// BitBalance says how often each bit is set.
type BitBalance struct {
	Shares []float64 `json:"shares"` // by bit, from the lowest up; even is 0.5
	Worst  int       `json:"worst"`  // the bit that is farthest from even
	P      float64   `json:"p"`      // that one of them is as far off by chance
}

// minExpected is how many IDs a bucket needs for the chi-square approximation:
// the usual rule.
const minExpected = 5

// Weak reports whether there were too few IDs for P to mean something.
func (c ChiSquare) Weak() bool { return c.Expected < minExpected }

// Even reports whether the IDs pass for random numbers: no P is below alpha, and
// no chi-square one above 1−alpha either, because counters are too even. Weak
// tests do not count. With 1e-6, random numbers fail once in a hundred thousand
// audits.
func (u Uniformity) Even(alpha float64) bool {
	for _, c := range u.ChiSquare {
		if !c.Weak() && (c.P < alpha || c.P > 1-alpha) {
			return false
		}
	}
	return (u.Serial == nil || u.Serial.P >= alpha) && (u.Bits == nil || u.Bits.P >= alpha)
}

// Tested reports whether one chi-square test had enough IDs.
func (u Uniformity) Tested() bool {
	for _, c := range u.ChiSquare {
		if !c.Weak() {
			return true
		}
	}
	return false
}
