package audit

import (
	"math"
	"math/bits"

	"github.com/snowfence/snowfence"
)

// survey is what is counted while IDs come.
type survey struct {
	fields *fields
	flip   uint64
	limit  int

	low      uint64 // the bits that are not the number of a key
	min, max uint64
	or       uint64 // of the IDs, not of the words
	words    order  // of the words: if they never fall, there is nothing to sort
	plain    order  // of the IDs before encryption; not used for others
	serial   serial
	ones     ones
	tally    *tally // nil without fields
	foreign  int64  // IDs that are not of the layout
}

func newSurvey(f *fields, flip uint64, limit int) *survey {
	s := &survey{fields: f, flip: flip, limit: limit, low: math.MaxUint64, min: math.MaxUint64}
	if f != nil {
		s.tally = newTally(f)
	}
	if f != nil && f.layout.Bits(snowfence.FieldKey) > 0 {
		s.low = 1<<f.evenWidth() - 1
	}
	return s
}

// add looks at words, of which the first has the given position.
func (s *survey) add(at int64, words []uint64) {
	for i, w := range words {
		s.min, s.max = min(s.min, w), max(s.max, w)
		s.or |= w ^ s.flip
		s.words.next(at+int64(i), word{w, w}, s.limit)
		s.serial.next(w & s.low)
	}
	s.ones.add(words)
	switch {
	case s.fields == nil:
	case s.fields.encrypted:
		s.foreign += s.fields.decryptAll(at, words, s.tally, &s.plain, s.limit)
	default:
		s.foreign += s.tally.add(words)
	}
}

// width is how many bits must look random: the layout's or the cipher's, or
// all in use.
func (s *survey) width() int {
	if s.fields != nil {
		return s.fields.evenWidth()
	}
	return bits.Len64(s.or)
}

// order counts where words fall.
type order struct {
	n       int64
	last    word
	falls   int64
	deepest uint64
	list    []fall
}

// word is what is compared; id is as it came, perhaps encrypted.
type word struct{ key, id uint64 }

// fall is a word that is lower than the one before.
type fall struct {
	at            int64
	before, after uint64 // as they came
}

// next takes one more word in.
func (o *order) next(at int64, w word, limit int) {
	if o.n > 0 && w.key < o.last.key {
		o.falls++
		o.deepest = max(o.deepest, o.last.key-w.key)
		if len(o.list) < limit {
			o.list = append(o.list, fall{at, o.last.id, w.id})
		}
	}
	o.n++
	o.last = w
}

// serial are the sums for the correlation of IDs with the next ones. Values are
// relative to the first ID, because close IDs would lose their differences in
// floating point.
type serial struct {
	n         float64
	origin    uint64
	last      float64
	x, xx, xy float64
}

func (s *serial) next(w uint64) {
	if s.n == 0 {
		s.origin = w
	}
	v := distance(w, s.origin)
	s.n++
	s.x += v
	s.xx += v * v
	s.xy += s.last * v
	s.last = v
}

// distance is a−b. It subtracts halves apart, so nothing is rounded while numbers
// are large.
func distance(a, b uint64) float64 {
	return (float64(a>>32)-float64(b>>32))*(1<<32) + (float64(a&math.MaxUint32) - float64(b&math.MaxUint32))
}

// correlation returns the circular serial correlation: the first ID follows the
// last, and is 0 from itself. It is NaN if all IDs are the same.
func (s *serial) correlation() float64 {
	d := s.n*s.xx - s.x*s.x
	return (s.n*s.xy - s.x*s.x) / d
}
