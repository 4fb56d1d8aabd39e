package sequence

import "sync/atomic"

// span is ordinals [from, until).
type span struct{ from, until int64 }

func (s span) len() int64 { return s.until - s.from }

// split returns the first n ordinals and the others.
func (s span) split(n int64) (first, rest span) {
	at := s.from + n
	return span{s.from, at}, span{at, s.until}
}

// piece is a span that is being given out. Whoever adds to next owns what it was raised by.
//
// Invariant: an index below count becomes a number at most once, because only the add or swap that
// moved next past it may use it.
type piece struct {
	before, step int64 // the number before the first one, and from each to the next
	count        uint64
	from         int64 // the first ordinal

	_    [64]byte // next has a cache line of its own, because all write it
	next atomic.Uint64
	_    [64]byte
}

// sealed is what next is set to when nothing more may be taken.
const sealed = 1 << 63

func (c course) piece(s span) *piece {
	return &piece{before: c.number(s.from - 1), step: c.step, count: uint64(s.len()), from: s.from}
}

// some takes up to n indexes.
func (p *piece) some(n int64) (s span, ok bool) {
	if i := p.next.Add(uint64(n)) - uint64(n); i < p.count {
		return p.span(i, min(i+uint64(n), p.count)), true
	}
	return span{}, false
}

// row takes n indexes that follow each other, or none.
func (p *piece) row(n int64) (s span, ok bool) {
	for {
		i := p.next.Load()
		end := i + uint64(n) // below 2^64, because a sealed next is 2^63 and a little
		if end > p.count {
			return span{}, false
		}
		if p.next.CompareAndSwap(i, end) {
			return p.span(i, end), true
		}
	}
}

// seal ends the piece and returns what was not taken.
func (p *piece) seal() span { return p.span(min(p.next.Swap(sealed), p.count), p.count) }

// left returns how many were not taken a moment ago.
func (p *piece) left() int64 { return int64(p.count - min(p.next.Load(), p.count)) }

func (p *piece) span(i, end uint64) span { return span{p.from + int64(i), p.from + int64(end)} }
