package audit

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/snowfence/snowfence"
)

// survey is what is counted while IDs come. Goroutines share a chunk in pieces.
// What depends on order is joined piece by piece, so the result, floating-point
// sums included, does not depend on the number of processors.
type survey struct {
	fields *fields
	flip   uint64
	piece  int
	limit  int

	n     int64
	first uint64
	low   uint64 // the bits that are not the number of a key
	total partial
	tally []*tally // by worker; nil without fields
	ones  []*ones  // by worker
}

// partial is what is known of successive words.
type partial struct {
	min, max uint64
	or       uint64 // of the IDs, not of the words
	words    order  // of the words: if they never fall, there is nothing to sort
	plain    order  // of the IDs before encryption; not used for others
	serial   serial
	foreign  int64 // IDs that are not of the layout
}

func newSurvey(f *fields, flip uint64, piece, limit int) *survey {
	s := &survey{fields: f, flip: flip, piece: piece, limit: limit, low: math.MaxUint64}
	if f != nil && f.layout.Bits(snowfence.FieldKey) > 0 {
		s.low = 1<<f.evenWidth() - 1
	}
	return s
}

// add looks at words, of which the first has the given position.
func (s *survey) add(at int64, words []uint64) {
	if len(words) == 0 {
		return
	}
	if s.n == 0 {
		s.first = words[0]
	}
	list := slices.Collect(slices.Chunk(words, s.piece))
	n := min(workers(), len(list))
	for len(s.ones) < n {
		s.ones = append(s.ones, &ones{})
		if s.fields != nil {
			s.tally = append(s.tally, newTally(s.fields))
		}
	}
	parts := make([]partial, len(list))
	var next atomic.Int64
	_ = parallel(n, func(worker int) error { // the work returns no error
		for i := int(next.Add(1)) - 1; i < len(list); i = int(next.Add(1)) - 1 {
			parts[i] = s.look(worker, at+int64(i*s.piece), list[i])
		}
		return nil
	})
	for i := range parts {
		s.total.join(&parts[i], s.n == 0 && i == 0, s.limit)
	}
	s.n += int64(len(words))
}

// look is the work of one goroutine.
func (s *survey) look(worker int, at int64, words []uint64) partial {
	p := partial{min: words[0], max: words[0]}
	for _, w := range words {
		p.min, p.max = min(p.min, w), max(p.max, w)
		p.or |= w ^ s.flip
	}
	p.words.look(at, words, s.limit)
	p.serial.look(words, s.first, s.low)
	s.ones[worker].add(words)
	if s.fields == nil {
		return p
	}
	t := s.tally[worker]
	if s.fields.encrypted {
		p.foreign = s.fields.decryptAll(at, words, t, &p.plain, s.limit)
	} else {
		p.foreign = t.add(words)
	}
	return p
}

func (p *partial) join(q *partial, first bool, limit int) {
	if first {
		*p = *q
		return
	}
	p.min, p.max = min(p.min, q.min), max(p.max, q.max)
	p.or |= q.or
	p.words.join(&q.words, limit)
	p.plain.join(&q.plain, limit)
	p.serial.join(&q.serial)
	p.foreign += q.foreign
}

// width is how many bits must look random: those of the layout or the cipher, or
// all in use.
func (s *survey) width() int {
	if s.fields != nil {
		return s.fields.evenWidth()
	}
	return bits.Len64(s.total.or)
}

// order counts where words fall.
type order struct {
	n           int64
	at          int64 // position of the first word
	first, last word
	falls       int64
	deepest     uint64
	list        []fall
}

// word is what is compared; id is as it came, perhaps encrypted.
type word struct{ key, id uint64 }

// fall is a word that is lower than the one before.
type fall struct {
	at            int64
	before, after uint64 // as they came
}

func (o *order) look(at int64, words []uint64, limit int) {
	o.n, o.at = int64(len(words)), at
	o.first, o.last = word{words[0], words[0]}, word{words[len(words)-1], words[len(words)-1]}
	before := words[0]
	for i, w := range words {
		if w < before {
			o.fall(at+int64(i), word{before, before}, word{w, w}, limit)
		}
		before = w
	}
}

// next takes one more word in.
func (o *order) next(at int64, w word, limit int) {
	if o.n == 0 {
		o.at, o.first = at, w
	} else if w.key < o.last.key {
		o.fall(at, o.last, w, limit)
	}
	o.n++
	o.last = w
}

func (o *order) fall(at int64, before, after word, limit int) {
	o.falls++
	o.deepest = max(o.deepest, before.key-after.key)
	if len(o.list) < limit {
		o.list = append(o.list, fall{at, before.id, after.id})
	}
}

// join appends what is known of the words that follow.
func (o *order) join(q *order, limit int) {
	switch {
	case q.n == 0:
		return
	case o.n == 0:
		*o = *q
		return
	}
	if q.first.key < o.last.key {
		o.fall(q.at, o.last, q.first, limit)
	}
	o.n += q.n
	o.falls += q.falls
	o.deepest = max(o.deepest, q.deepest)
	o.list = append(o.list, q.list[:min(len(q.list), limit-len(o.list))]...)
	o.last = q.last
}

// serial are the sums for the correlation of IDs with the next ones. Values are
// relative to the first ID, because close IDs would lose their differences in
// floating point.
type serial struct {
	n           float64
	first, last float64
	x, xx, xy   float64
}

func (s *serial) look(words []uint64, origin, mask uint64) {
	before := 0.0
	for i, w := range words {
		v := distance(w&mask, origin&mask)
		s.x += v
		s.xx += v * v
		if i == 0 {
			s.first = v
		} else {
			s.xy += before * v
		}
		before = v
	}
	s.n, s.last = float64(len(words)), before
}

// distance is a−b. It subtracts halves apart, so nothing is rounded while numbers
// are large.
func distance(a, b uint64) float64 {
	return (float64(a>>32)-float64(b>>32))*(1<<32) + (float64(a&math.MaxUint32) - float64(b&math.MaxUint32))
}

func (s *serial) join(q *serial) {
	s.xy += q.xy + s.last*q.first
	s.x += q.x
	s.xx += q.xx
	s.n += q.n
	s.last = q.last
}

// correlation returns the circular serial correlation: the first ID follows the
// last. It is NaN if all IDs are the same.
func (s *serial) correlation() float64 {
	d := s.n*s.xx - s.x*s.x
	return (s.n*(s.xy+s.last*s.first) - s.x*s.x) / d
}
