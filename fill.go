package snowfence

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"
)

// Fill writes new IDs to dst, and returns how many. Those with the same
// bits above the time increase. It takes them in runs, each with one atomic
// step and one clock read. For each run it waits as Next does. If it gives
// up, the first n IDs are good, and err has the reason.
func (g *Generator) Fill(ctx context.Context, dst []ID) (n int, err error) {
	for again := true; again; {
		machine := g.machine.Now()
		n, err = g.fill(ctx, dst)
		again = machine.Copied() // a copy of it may write the same
	}
	return n, err
}

func (g *Generator) fill(ctx context.Context, dst []ID) (n int, err error) {
	for n < len(dst) {
		t, pos, count, err := g.reservePositions(ctx, uint64(len(dst)-n), g.maxWait)
		if err != nil {
			return n, err
		}
		n += t.write(dst[n:], pos, count)
	}
	return n, nil
}

// Run is a series of IDs in equal steps, from First to Last.
type Run struct {
	First, Last ID
	Step        int64 // above 0, also when the run is a single ID
}

// Len returns the number of IDs in the run; 0 for the zero Run.
func (r Run) Len() int64 {
	if r.Step <= 0 || r.Last < r.First {
		return 0
	}
	return int64(uint64(r.Last-r.First)/uint64(r.Step)) + 1
}

// All yields the IDs of the run, in increasing order.
func (r Run) All() iter.Seq[ID] {
	return func(yield func(ID) bool) {
		id := r.First
		for range r.Len() {
			if !yield(id) {
				return
			}
			id += ID(r.Step)
		}
	}
}

// Runs appends runs of n new IDs in all to dst, in the order of Fill. A run
// ends where its tick or its node's sequence ends. It waits as Fill does;
// after an error the runs it returns are good. Encrypted IDs have no runs.
func (g *Generator) Runs(ctx context.Context, dst []Run, n int64) (all []Run, err error) {
	if g.scheme.Encrypted() {
		return dst, fmt.Errorf("snowfence: encrypted IDs have no runs: use Fill")
	}
	for again := true; again; {
		machine := g.machine.Now()
		all, err = g.runs(ctx, dst, n)
		again = machine.Copied()
	}
	return all, err
}

func (g *Generator) runs(ctx context.Context, dst []Run, n int64) ([]Run, error) {
	for n > 0 {
		t, pos, count, err := g.reservePositions(ctx, uint64(n), g.maxWait)
		if err != nil {
			return dst, err
		}
		n -= int64(count)
		for count > 0 {
			id, step, k := t.piece(pos, count)
			dst = append(dst, Run{id, id + ID(k-1)*step, int64(step)})
			pos, count = pos+k, count-k
		}
	}
	return dst, nil
}

// write puts the IDs of count positions from pos into dst.
func (t *track) write(dst []ID, pos, count uint64) int {
	for n := uint64(0); n < count; {
		id, step, k := t.piece(pos+n, count-n)
		if p := t.hold.scheme.current; p != nil {
			p.encryptRun(words(dst[n:n+k]), uint64(id), uint64(step))
		} else {
			count64(dst[n:n+k], id, step)
		}
		n += k
	}
	return int(count)
}

// count64 writes id, id+step, id+2×step, … Unrolled by hand it takes half
// the time.
func count64(dst []ID, id, step ID) {
	s2, s3, s4 := 2*step, 3*step, 4*step
	for len(dst) >= 16 {
		d := (*[16]ID)(dst)
		d[0] = id
		d[1] = id + step
		d[2] = id + s2
		d[3] = id + s3
		id += s4
		d[4] = id
		d[5] = id + step
		d[6] = id + s2
		d[7] = id + s3
		id += s4
		d[8] = id
		d[9] = id + step
		d[10] = id + s2
		d[11] = id + s3
		id += s4
		d[12] = id
		d[13] = id + step
		d[14] = id + s2
		d[15] = id + s3
		id += s4
		dst = dst[16:]
	}
	for i := range dst {
		dst[i] = id
		id += step
	}
}

// batchSize is the longest run that an encrypted generator makes ahead.
// Runs grow to it while they are used up in their tick, and shrink when
// most of one is lost.
const batchSize = 256

// batch is a run of positions, encrypted at once because that is many times
// faster. It is used only in its own tick, so timestamps are the times of
// the calls, and only while its grant is in use.
//
// Invariant: an ID is given out at most once, by the add that moved next
// past it.
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

// renew reads the clock and reports whether the batch's tick is still the
// current one, or ahead of it by the lead at most.
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

// newBatch makes the batch after old and takes its first ID, or reports
// false if there is no position now.
func (g *Generator) newBatch(old *batch) (ID, bool) {
	g.batchMu.Lock()
	if g.batch.Load() != old {
		g.batchMu.Unlock()
		return g.tryBatch() // another call was faster
	}
	defer g.batchMu.Unlock()
	size := resize(g.batchLen, old.count-min(old.next.Load(), old.count), batchSize)
	t, pos, count, _ := g.takeUpTo(size)
	if count == 0 {
		return 0, false
	}
	b := &batch{t: t, tick: int64(pos / t.span), count: count}
	b.sure.Store(g.clock.SureUntil(t.from + b.tick))
	t.write(b.ids[:], pos, count)
	b.next.Store(1)
	g.batchLen = size
	g.batch.Store(b)
	return b.ids[0], !t.machine.Copied()
}

// resize returns how many positions to take after size, of which lost were
// not used in their tick.
func resize(size, lost, most uint64) uint64 {
	switch {
	case lost == 0:
		return min(2*size, most)
	case lost > size/2:
		return size - size/2
	}
	return size
}
