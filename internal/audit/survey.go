package audit

import (
	"math"
	"math/bits"
)

// survey is what is counted while IDs come.
type survey struct {
	fields *fields
	flip   uint64
	limit  int

	min, max uint64
	or       uint64 // of the IDs, not of the words
	words    order  // of the words: if they never fall, there is nothing to sort
	plain    order  // of the IDs before encryption, or of their times below other fields
	tally    *tally // nil without fields
	foreign  int64  // IDs that are not of the layout
}

func newSurvey(f *fields, flip uint64, limit int) *survey {
	s := &survey{fields: f, flip: flip, limit: limit, min: math.MaxUint64}
	if f != nil {
		s.tally = newTally(f)
	}
	return s
}

// add looks at words, of which the first has the given position.
func (s *survey) add(at int64, words []uint64) {
	for i, w := range words {
		s.min, s.max = min(s.min, w), max(s.max, w)
		s.or |= w ^ s.flip
		s.words.next(at+int64(i), word{w, w}, s.limit)
	}
	switch {
	case s.fields == nil:
	case s.fields.plain != nil:
		s.foreign += s.fields.decryptAll(at, words, s.tally, &s.plain, s.limit)
	default:
		s.foreign += s.tally.add(words)
		for i, w := range words {
			if s.fields.above && !s.fields.foreign(w) {
				s.plain.next(at+int64(i), word{s.fields.tick(w), w}, s.limit)
			}
		}
	}
}

// evenness returns the counts of the bits that must look random: the
// cipher's, or without a layout all in use. It is nil for plain layouts,
// and for IDs of less than eight bits.
func (s *survey) evenness() *evenness {
	width := bits.Len64(s.or)
	switch {
	case s.fields != nil && s.fields.plain != nil:
		width = s.fields.evenWidth()
	case s.fields != nil:
		return nil
	}
	if width < 8 {
		return nil
	}
	return newEvenness(width)
}

// order counts where words fall.
type order struct {
	n     int64
	last  word
	falls int64
	list  []fall
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
		if len(o.list) < limit {
			o.list = append(o.list, fall{at, o.last.id, w.id})
		}
	}
	o.n++
	o.last = w
}
