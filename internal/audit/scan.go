package audit

import (
	"math"
	"math/bits"
	"slices"
)

// maxGaps is how many of the largest gaps are listed.
const maxGaps = 10

// repeat is how often a number is there.
type repeat struct {
	key   uint64
	count int64
}

// gap is two neighbours in sorted words with others missing between them.
type gap struct{ after, before uint64 }

func (g gap) missing() uint64 { return g.before - g.after - 1 }

// tidy is what is known of sorted words.
type tidy struct {
	limit   int // of lists
	counter counter
	fields  *fields // nil when words have no time that can be read
	unit    uint64  // of time, in ticks: a second, or a longer tick

	n        int64
	last     repeat // the last word; it is not in the counts yet
	distinct int64
	repeated int64    // words that are there more than once
	list     []repeat // the first of these
	gaps     int64
	missing  uint64
	largest  []gap  // the largest gaps, sorted
	first    []gap  // the lowest gaps
	now      repeat // words in the last unit of time
	end      uint64 // the first word past it
	peak     repeat
}

func newTidy(f *fields, limit int, c counter) *tidy {
	t := &tidy{limit: limit, counter: c}
	if f != nil && !f.encrypted {
		t.fields, t.unit = f, f.second()
	}
	return t
}

// counter says how numbers count up; 0 means that nothing is known of it. Else words are alike in
// the bits above so many where they are of one period, and count from 0 below.
type counter int

// start returns the word before the first one of the period.
func (c counter) start(w uint64) uint64 { return w>>c<<c - 1 }

// between returns two words that others are missing between. A period that begins misses
// nothing of the one before.
func (c counter) between(after, before uint64) gap {
	if c > 0 && after>>c != before>>c {
		after = c.start(before)
	}
	return gap{after, before}
}

// add looks at the words that follow.
func (t *tidy) add(words []uint64) {
	for _, w := range words {
		t.count(w)
		if t.n++; t.n > 1 && w == t.last.key {
			t.last.count++
			continue
		}
		switch {
		case t.n > 1 && w-t.last.key > 1:
			t.gap(t.counter.between(t.last.key, w))
		case t.n == 1 && t.counter > 0:
			t.gap(gap{t.counter.start(w), w})
		}
		t.close()
		t.last = repeat{w, 1}
	}
}

// close counts the last word, after which there is another one or none.
func (t *tidy) close() {
	r := t.last
	if r.count == 0 {
		return
	}
	t.distinct++
	if r.count > 1 {
		t.repeated++
		if len(t.list) < t.limit {
			t.list = append(t.list, r)
		}
	}
}

func (t *tidy) gap(g gap) {
	if g.missing() == 0 {
		return
	}
	t.gaps++
	if len(t.first) < t.limit {
		t.first = append(t.first, g)
	}
	t.missing += g.missing()
	if len(t.largest) == maxGaps && g.missing() <= t.largest[maxGaps-1].missing() {
		return
	}
	// Of equal ones the first come first.
	i, _ := slices.BinarySearchFunc(t.largest, g, func(have, g gap) int {
		if have.missing() >= g.missing() {
			return -1
		}
		return 1
	})
	t.largest = slices.Insert(t.largest[:min(len(t.largest), maxGaps-1)], i, g)
}

// count counts a word in its unit of time.
func (t *tidy) count(w uint64) {
	f := t.fields
	if f == nil || f.foreign(w) {
		return
	}
	if t.now.count == 0 || w >= t.end {
		if u := f.tick(w) / t.unit; u != t.now.key || t.now.count == 0 {
			t.now = repeat{key: u}
		}
		t.end = math.MaxUint64
		if hi, ticks := bits.Mul64(t.now.key+1, t.unit); hi == 0 && bits.Len64(ticks)+f.timeShift <= 64 {
			t.end = ticks << f.timeShift
		}
	}
	if t.now.count++; t.now.count > t.peak.count {
		t.peak = t.now
	}
}
