package audit

import (
	"context"
	"math/bits"
)

// sorter looks at all words in their order as numbers.
type sorter struct {
	ctx      context.Context
	auditor  *Auditor
	uniform  *uniform
	progress *progress
	total    *tidy
	area     []uint64 // room for the words of one part
	capacity int
}

// partBits: words are divided into 2^partBits buckets to find parts.
const partBits = 16

// run sorts what needs it and returns the sum over all words. Its first look also
// counts for the uniformity.
func (s *sorter) run() (*tidy, error) {
	a := s.auditor
	s.total = &tidy{listLimit: a.o.Limit, counter: counter(a.o.Counts)}
	var err error
	if a.survey.total.words.falls == 0 {
		err = s.scanAll()
	} else {
		s.capacity = max(a.size.memory-a.store.memory(), a.size.piece)
		p := newPieces(a.store, a.size.piece)
		t := a.survey.total
		err = s.divide(p, span{t.min, t.max}, a.store.n, s.uniform)
	}
	s.area = nil
	s.total.end()
	return s.total, err
}

// unit is a unit of time in ticks: a second, or a longer tick.
func (s *sorter) unit() uint64 {
	if s.auditor.fields == nil {
		return 1
	}
	return s.auditor.fields.second()
}

// scanAll is for words that are in order.
func (s *sorter) scanAll() error {
	a := s.auditor
	p := newPieces(a.store, a.size.piece)
	found := make([]*tidy, p.count())
	s.uniform.tables(p.workers)
	err := p.each(s.ctx, func(worker, piece int, _ int64, words []uint64) error {
		s.uniform.add(worker, words)
		found[piece] = scan(words, s.auditor.fields, s.unit(), s.auditor.o.Limit, s.total.counter)
		s.progress.add(2 * len(words))
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range found {
		s.total.push(t)
	}
	return nil
}

// span is a range of words, both ends included.
type span struct{ lo, hi uint64 }

func (s span) has(w uint64) bool { return w-s.lo <= s.hi-s.lo }

// buckets divide a span by the highest bits of the distance from its start.
type buckets struct {
	span
	shift  int
	counts [][]int64 // by worker
}

func newBuckets(r span, workers int) *buckets {
	b := &buckets{span: r, shift: max(0, bits.Len64(r.hi-r.lo)-partBits)}
	n := (r.hi-r.lo)>>b.shift + 1
	for range workers {
		b.counts = append(b.counts, make([]int64, n))
	}
	return b
}

func (b *buckets) len() int { return len(b.counts[0]) }

func (b *buckets) count(i int) int64 {
	var n int64
	for _, c := range b.counts {
		n += c[i]
	}
	return n
}

// spanOf is the span of the buckets from first to last.
func (b *buckets) spanOf(first, last int) span {
	r := span{lo: b.lo + uint64(first)<<b.shift, hi: b.hi}
	if last < b.len()-1 {
		r.hi = b.lo + uint64(last+1)<<b.shift - 1
	}
	return r
}

// part is neighbouring buckets.
type part struct {
	first, last int
	n           int64
	again       bool // a single bucket with too much in it: to be divided once more
}

// parts groups buckets into parts that fit. A bucket too full for one worker is a
// part of its own.
func (b *buckets) parts(capacity, total, heavy int64) []part {
	var list []part
	var open part
	closeOpen := func() {
		if open.n > 0 {
			list = append(list, open)
		}
		open = part{}
	}
	for i := range b.len() {
		n := b.count(i)
		if n == 0 {
			continue
		}
		if n > capacity || n > heavy && n > total/8 {
			closeOpen()
			list = append(list, part{i, i, n, true})
			continue
		}
		if open.n+n > capacity {
			closeOpen()
		}
		if open.n == 0 {
			open.first = i
		}
		open.last, open.n = i, open.n+n
	}
	closeOpen()
	return list
}

// divide takes the n words of pieces in the span: it counts how they are spread,
// and sorts parts that fit into memory one by one. If the words are in a file and
// too many, it first writes each part to its own place, so that no part needs all
// words read.
func (s *sorter) divide(p pieces, r span, n int64, first *uniform) error {
	if r.lo == r.hi {
		s.total.push(repeatedWord(r.lo, n, s.auditor.fields, s.unit()))
		s.progress.add(int(n))
		return nil
	}
	b := newBuckets(r, p.workers)
	if first != nil {
		first.tables(p.workers)
	}
	err := p.each(s.ctx, func(worker, _ int, _ int64, words []uint64) error {
		counts := b.counts[worker]
		for _, w := range words {
			if r.has(w) {
				counts[(w-r.lo)>>b.shift]++
			}
		}
		if first != nil {
			first.add(worker, words)
			s.progress.add(len(words))
		}
		return nil
	})
	if err != nil {
		return err
	}
	list := b.parts(int64(s.capacity), n, int64(s.auditor.size.heavy))
	if s.auditor.store.file != nil && n > int64(s.capacity) && len(list) > 1 {
		return s.divideFile(p, b, list)
	}
	for _, part := range list {
		if part.again {
			err = s.divide(p, b.spanOf(part.first, part.last), part.n, nil)
		} else {
			err = s.sortPart(p, b, part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// repeatedWord is a word that is there n times.
func repeatedWord(w uint64, n int64, f *fields, unit uint64) *tidy {
	t := scan([]uint64{w}, f, unit, 0, 0)
	t.n, t.head.count, t.tail.count = n, n, n
	if t.headUnit.count > 0 {
		t.headUnit.count, t.tailUnit.count, t.peak.count = n, n, n
	}
	return t
}
