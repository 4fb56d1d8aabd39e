package snowfence

import (
	"sync/atomic"
	"time"
)

// batchSize is the longest run that an encrypted generator makes ahead. Runs grow
// to it while they are used up in their tick, and shrink when most of one is
// lost.
const batchSize = 256

// batch is a run of positions, encrypted at once because that is many times
// faster. It is used only in its own tick, so timestamps are the times of the calls,
// and only while its grant is in use.
//
// Invariant: an ID is given out at most once, by the add that moved next past it.
type batch struct {
	t    *track
	tick int64        // of its first position, after t.from; the others are not before it
	sure atomic.Int64 // while the clock has elapsed less, that tick is not over

	_    [64]byte
	next atomic.Uint64
	_    [64]byte

	count uint64
	ids   [batchSize]ID
}

// tryBatch is the fast path of an encrypted scheme.
func (g *Generator) tryBatch() (ID, bool) {
	b := g.batch.Load()
	if g.cur.Load() != b.t || b.t.hold.gone.Load() {
		return g.newBatch(b)
	}
	stall(afterTrack)
	var over bool // whether the tick may be
	if g.coarse {
		over = b.t.coarse.Load() > b.tick
	} else {
		sure := b.sure.Load()
		over = sure == 0 || int64(time.Since(g.clock.Base)) >= sure
	}
	if over && !b.renew(g) {
		return g.newBatch(b)
	}
	stall(afterClock)
	if i := b.next.Add(1) - 1; i < b.count && !b.t.machine.Copied() {
		return b.ids[i], true
	}
	return g.newBatch(b)
}

// renew reads the clock and reports whether the batch's tick is still the current
// one, or ahead of it by the lead at most.
func (b *batch) renew(g *Generator) bool {
	tick, sure := g.clock.Read()
	if at := tick - b.t.from; at > b.tick || at < b.tick-g.lead {
		return false
	}
	if sure > 0 {
		b.sure.Store(sure)
	}
	return true
}

// newBatch makes the batch after old and takes its first ID, or reports false if
// there is no position now.
func (g *Generator) newBatch(old *batch) (ID, bool) {
	g.batchMu.Lock()
	if g.batch.Load() != old {
		g.batchMu.Unlock()
		return g.tryBatch() // another call was faster
	}
	defer g.batchMu.Unlock()
	size := resize(g.batchLen, old.count-min(old.next.Load(), old.count), batchSize)
	t, pos, count, _ := g.attempt(size)
	if count == 0 {
		return 0, false
	}
	b := &batch{t: t, tick: int64(pos / t.span), count: count}
	b.sure.Store(g.clock.SureUntil(t.from + b.tick))
	t.write(b.ids[:], pos, count)
	b.next.Store(1)
	g.batchLen = size
	g.batch.Store(b)
	return b.ids[0], true
}

// resize returns how many positions to take after size, of which lost were not
// used in their tick.
func resize(size, lost, most uint64) uint64 {
	switch {
	case lost == 0:
		return min(2*size, most)
	case lost > size/2:
		return size - size/2
	}
	return size
}
