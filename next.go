package snowfence

import (
	"context"
	"math"
	"time"
)

// Next returns a new ID. The fast path neither waits nor looks at ctx.
// Otherwise it waits for the next tick or a grant, at most Config.MaxWait
// and until ctx ends, and then returns a [WaitError], [ErrLifetime] or
// [ErrClosed].
func (g *Generator) Next(ctx context.Context) (ID, error) { return g.next(ctx, g.maxWait) }

// TryNext returns a new ID without waiting; if there is none now, it
// returns [ErrExhausted] or [ErrFenced]. It asks the fence for the grant
// that the next call needs.
func (g *Generator) TryNext() (ID, error) { return g.next(context.Background(), -1) }

// NextFor is [Generator.Next] with a number of the caller in the tag field,
// as by [Scheme.Tag]. A tag that does not fit uses up no ID.
func (g *Generator) NextFor(ctx context.Context, tag int64) (ID, error) {
	if err := g.scheme.checkTag(tag); err != nil {
		return 0, err
	}
	id, err := g.Next(ctx)
	if err != nil {
		return 0, err
	}
	return g.scheme.Tag(id, tag)
}

// next is Next and TryNext, which the compiler inlines into their callers.
func (g *Generator) next(ctx context.Context, maxWait time.Duration) (ID, error) {
	switch g.mode {
	case exact:
		if id, ok := g.tryExact(); ok {
			return id, nil
		}
	case coarse:
		if id, ok := g.tryCoarse(); ok {
			return id, nil
		}
	default:
		if id, ok := g.tryBatch(); ok {
			return id, nil
		}
	}
	t, pos, _, err := g.reservePositions(ctx, 1, maxWait)
	if err != nil {
		return 0, err
	}
	return t.id(pos), nil
}

// tryExact and tryCoarse are the fast paths: one ID below the published
// limit, if there is nothing to wait for.
//
// Invariant: a position becomes an ID at most once, because only the add or
// swap that moved the word past it may use it, and only below an end of its
// own track that was read before. The clock decides where the word moves
// to, never the owner of a position. A copy of the machine has a copy of
// the word, so a caller that took a position looks whether there is one.
func (g *Generator) tryExact() (ID, bool) {
	t := g.cur.Load()
	stall(afterTrack)
	if int64(time.Since(g.clock.Base)) >= t.sure.Load() {
		return 0, false
	}
	stall(afterClock)
	limit := t.limit.Load()
	if t.word.Load() >= limit { // cheap beside the clock, and the last position of a tick costs none of the next
		return 0, false
	}
	stall(afterLimit)
	pos := t.word.Add(1) - 1
	stall(afterTake)
	if pos >= limit || t.machine.Copied() {
		return 0, false
	}
	if t.form == shifts {
		return t.shiftID(pos), true
	}
	return t.pieceID(pos), true
}

func (g *Generator) tryCoarse() (ID, bool) {
	t := g.cur.Load()
	stall(afterTrack)
	limit := t.limit.Load()
	if limit == 0 {
		return 0, false
	}
	stall(afterLimit)
	pos := t.word.Add(1) - 1
	stall(afterTake)
	if pos >= limit || t.machine.Copied() {
		return 0, false
	}
	if t.form == shifts {
		return t.shiftID(pos), true
	}
	return t.pieceID(pos), true
}

// publish opens the fast path of an exact generator for the rest of a tick,
// if sure is not 0. The word is at the start of that tick or above.
func (t *track) publish(tick, sure int64, bound uint64) {
	soft := t.soft.Load()
	if sure == 0 || tick-t.from >= int64(soft) {
		return // every call looks at the clock, or asks for the next grant
	}
	t.limit.Store(min(bound, soft*t.span))
	t.sure.Store(sure)
}

const (
	// parked is the coarse tick of a track without a ticker: later than
	// any block.
	parked = math.MaxInt64

	// A coarse generator reads the clock every coarseSpan, and after as
	// many IDs as it made in the last one, because the ticker may get no
	// processor.
	coarseSpan = time.Millisecond
	minQuota   = 64
	maxQuota   = 1 << 17
)

// publishCoarse tells the fast path of a coarse generator the time, and the
// position at which to read the clock again. before and after are the word
// around the positions of the caller.
func (g *Generator) publishCoarse(t *track, tick int64, before, after, bound uint64) {
	ns := g.clock.Elapsed()
	elapsed := max(ns-t.pubNs.Load(), 1)
	made := min(max(int64(before)-int64(t.pubPos.Load()), 0), 1<<40) // times coarseSpan it fits 63 bits
	quota := min(max(uint64(made*int64(coarseSpan)/elapsed), minQuota), maxQuota)
	soft := t.soft.Load()
	limit := min(bound, soft*t.span, after+quota)
	if tick-t.from >= int64(soft) {
		limit = 0 // the next caller asks for what comes after this grant
	}
	t.pubPos.Store(after)
	t.pubNs.Store(ns)
	t.coarse.Store(tick - t.from)
	t.limit.Store(limit)
	if t.hold.gone.Load() {
		t.closeFastPath() // it was sealed while we looked at the clock: handles must not take it for one that goes on
	}
	// After the limit, never before: a ticker that parks takes the limit
	// back last, so either it undoes this limit or this starts another
	// ticker.
	if g.ticking.CompareAndSwap(false, true) {
		g.world.Go(g.keepTime)
	}
}

// closeFastPath sends all takers to the slow path until a call publishes
// again.
func (t *track) closeFastPath() {
	t.coarse.Store(parked)
	t.limit.Store(0)
}

// keepTime is the ticker of a coarse generator. It runs while IDs are made.
func (g *Generator) keepTime() {
	period := min(max(g.scheme.layout.Tick, coarseSpan), 10*coarseSpan)
	next := g.world.Now()
	var last uint64
	for idle := 0; ; {
		wait := next.Add(period).Sub(g.world.Now())
		if wait < 0 {
			wait = period // it got no processor for a while
		}
		next = g.world.Now().Add(wait)
		g.world.Wait(wait, g.life.Done())
		t := g.cur.Load()
		if t.hold == nil {
			return // closed
		}
		tick := g.clock.Tick()
		stall(afterTicker)
		w := t.word.Load()
		if w != last {
			idle = 0
		} else if idle++; idle == 2 {
			g.ticking.Store(false)
			// Read after the store: a later publish on another track starts
			// a new ticker.
			g.cur.Load().closeFastPath()
			return
		}
		now, bound := t.window(tick, g.lead, t.end.Load())
		begin := t.beginTick(g.spread, now)
		stall(afterWord)
		for w <= now && w < begin && !t.word.CompareAndSwap(w, begin) {
			w = t.word.Load()
		}
		if last = w; w <= now {
			last = begin
		}
		if !t.hold.gone.Load() {
			g.publishCoarse(t, tick, w, last, bound)
		}
	}
}

// point is a place between two atomic steps. Tests with the tag
// snowfence_stall stop goroutines there for any length of time.
type point int

const (
	afterTrack  point = iota // the generator's pointer was read
	afterClock               // the time was read
	afterWord                // the word was read
	afterTake                // positions were taken, the ID is not yet made
	afterLimit               // the coarse limit was read
	beforeSeal               // a new grant is known, the old word not yet sealed
	afterSeal                // the old word is sealed, the new grant not yet published
	afterClose               // Close took the pointer away, the word is not yet sealed
	afterTicker              // the coarse ticker read the pointer and the time
	numPoints
)
