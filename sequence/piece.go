package sequence

import "sync/atomic"

// span is ordinals [from, until) of a course that begins at start. Each of
// several stores has its own start. All courses have one step.
type span struct{ start, from, until int64 }

func (s span) len() int64 { return s.until - s.from }

func (s span) firstNumber(step int64) int64 { return s.start + step*s.from }

// split returns the first n ordinals and the others.
func (s span) split(n int64) (first, rest span) {
	at := s.from + n
	return span{s.start, s.from, at}, span{s.start, at, s.until}
}

// piece is a span that is being given out. A goroutine that adds to next
// owns the added ordinals.
//
// Invariant: an index below count becomes a number at most once, because
// only the add or swap that moved next past it may use it.
type piece struct {
	before, step int64 // the number before the first one, and from each to the next
	count        uint64
	span         span

	_    [64]byte // next has a cache line of its own, because all write it
	next atomic.Uint64
	_    [64]byte
}

// sealed is the value of next when nothing more may be taken.
const sealed = 1 << 63

func (s span) piece(step int64) *piece {
	return &piece{before: s.firstNumber(step) - step, step: step, count: uint64(s.len()), span: s}
}

// takeSome takes up to n indexes.
func (p *piece) takeSome(n int64) (s span, ok bool) {
	if i := p.next.Add(uint64(n)) - uint64(n); i < p.count {
		return p.partOf(i, min(i+uint64(n), p.count)), true
	}
	return span{}, false
}

// takeRow takes n indexes that follow each other, or none.
func (p *piece) takeRow(n int64) (s span, ok bool) {
	for {
		i := p.next.Load()
		end := i + uint64(n) // below 2^64, because a sealed next is 2^63 and a little
		if end > p.count {
			return span{}, false
		}
		if p.next.CompareAndSwap(i, end) {
			return p.partOf(i, end), true
		}
	}
}

// seal ends the piece and returns its untaken part.
func (p *piece) seal() span { return p.partOf(min(p.next.Swap(sealed), p.count), p.count) }

// left returns how many were not taken a moment ago.
func (p *piece) left() int64 { return int64(p.count - min(p.next.Load(), p.count)) }

// partOf returns the ordinals of indexes.
func (p *piece) partOf(i, end uint64) span {
	return span{p.span.start, p.span.from + int64(i), p.span.from + int64(end)}
}
