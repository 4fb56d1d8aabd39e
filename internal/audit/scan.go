package audit

import (
	"math"
	"math/bits"
	"slices"
)

// maxGaps is how many of the largest gaps are listed.
const maxGaps = 10

// run is how often a number follows itself in sorted words.
type run struct {
	key   uint64
	count int64
}

// gap is two neighbours in sorted words with others missing between them.
type gap struct{ after, before uint64 }

func (g gap) missing() uint64 { return g.before - g.after - 1 }

// tidy is what is known of sorted words. A piece has open ends: its first and
// last words may go on in its neighbours. Pieces pushed one by one onto an empty
// tidy make the sum.
type tidy struct {
	n         int64
	head      run // the first word; it is not in the counts yet
	tail      run // the last word; nor is it, if it is another
	distinct  int64
	repeated  int64 // words that are there more than once
	list      []run // the first of these
	gaps      int64
	missing   uint64
	largest   []gap // the largest gaps, sorted
	first     []gap // the lowest gaps
	headUnit  run   // IDs in the first and last unit of time
	tailUnit  run
	peak      run
	listLimit int
	counter   counter
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

// scan looks at sorted words.
func scan(words []uint64, f *fields, unit uint64, limit int, c counter) *tidy {
	t := &tidy{listLimit: limit, counter: c}
	if len(words) == 0 {
		return t
	}
	t.n = int64(len(words))
	current := run{words[0], 1}
	t.head = current
	first := true
	for _, w := range words[1:] {
		if w == current.key {
			current.count++
			continue
		}
		if w-current.key > 1 {
			t.gap(c.between(current.key, w))
		}
		if first {
			t.head, first = current, false
		} else if current.count == 1 {
			t.distinct++
		} else {
			t.close(current)
		}
		current = run{w, 1}
	}
	if t.tail = current; first {
		t.head = current
	}
	if f != nil && !f.encrypted {
		t.units(words, f, unit)
	}
	return t
}

// single reports whether head and tail are the same run.
func (t *tidy) single() bool { return t.head.key == t.tail.key }

// close counts a run that has ended.
func (t *tidy) close(r run) {
	t.distinct++
	if r.count > 1 {
		t.repeated++
		if len(t.list) < t.listLimit {
			t.list = append(t.list, r)
		}
	}
}

func (t *tidy) gap(g gap) {
	if g.missing() == 0 {
		return
	}
	t.gaps++
	if len(t.first) < t.listLimit {
		t.first = append(t.first, g)
	}
	t.missing += g.missing()
	if len(t.largest) == maxGaps && g.missing() <= t.largest[maxGaps-1].missing() {
		return
	}
	t.keep(g)
}

// keep puts a gap among the largest; of equal ones the first come first.
func (t *tidy) keep(g gap) {
	i, _ := slices.BinarySearchFunc(t.largest, g, func(have, g gap) int {
		if have.missing() >= g.missing() {
			return -1
		}
		return 1
	})
	if i < maxGaps {
		t.largest = slices.Insert(t.largest[:min(len(t.largest), maxGaps-1)], i, g)
	}
}

// units counts the IDs of each unit of time, in ticks.
func (t *tidy) units(words []uint64, f *fields, unit uint64) {
	var current run
	end := uint64(0) // the first word past the current unit
	open := false
	for _, w := range words {
		if f.foreign(w) {
			break // these are above all others
		}
		if open && w < end {
			current.count++
			continue
		}
		if open {
			t.closeUnit(current)
		}
		u := f.tick(w) / unit
		current, open = run{u, 1}, true
		end = math.MaxUint64
		if hi, ticks := bits.Mul64(u+1, unit); hi == 0 && bits.Len64(ticks)+f.timeShift <= 64 {
			end = ticks << f.timeShift
		}
	}
	if open {
		t.closeUnit(current)
	}
}

// closeUnit takes a unit. Only the first and last may go on in neighbours.
func (t *tidy) closeUnit(r run) {
	if t.headUnit.count == 0 {
		t.headUnit = r
	}
	t.tailUnit = r
	if r.count > t.peak.count {
		t.peak = r
	}
}

// push appends a piece to the sum of those before, of which only the tail is
// open.
func (t *tidy) push(q *tidy) {
	if q.n == 0 {
		return
	}
	head := q.head
	if t.n > 0 {
		if t.tail.key == head.key {
			head.count += t.tail.count
		} else {
			if head.key-t.tail.key > 1 {
				t.gap(t.counter.between(t.tail.key, head.key))
			}
			t.close(t.tail)
		}
	} else if t.counter > 0 {
		t.gap(gap{t.counter.start(head.key), head.key})
	}
	if t.tail = q.tail; q.single() {
		t.tail = head
	} else {
		t.close(head)
	}
	t.n += q.n
	t.distinct += q.distinct
	t.repeated += q.repeated
	t.list = append(t.list, q.list[:min(len(q.list), t.listLimit-len(t.list))]...)
	t.gaps += q.gaps
	t.missing += q.missing
	t.first = append(t.first, q.first[:min(len(q.first), t.listLimit-len(t.first))]...)
	for _, g := range q.largest {
		t.keep(g)
	}
	t.joinUnits(q)
}

// end closes the last run.
func (t *tidy) end() {
	if t.n > 0 {
		t.close(t.tail)
	}
}

func (t *tidy) joinUnits(q *tidy) {
	if q.headUnit.count == 0 {
		return
	}
	if t.tailUnit.count > 0 && t.tailUnit.key == q.headUnit.key {
		q.headUnit.count += t.tailUnit.count
		if q.headUnit.key == q.tailUnit.key {
			q.tailUnit.count += t.tailUnit.count
		}
	}
	for _, r := range []run{q.headUnit, q.peak} {
		if r.count > t.peak.count {
			t.peak = r
		}
	}
	t.tailUnit = q.tailUnit
}
