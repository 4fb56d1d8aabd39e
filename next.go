package snowfence

import (
	"context"
	"math"
	"time"
)

// Next returns a new ID. On the fast path it neither waits nor looks at ctx. Otherwise it
// waits for the next tick or for a grant, at most Config.MaxWait and until ctx ends, and
// then returns a [WaitError], [ErrLifetime] or [ErrClosed].
func (g *Generator) Next(ctx context.Context) (ID, error) { return g.next(ctx, g.maxWait) }

// TryNext returns a new ID without waiting, or an error that says why there is none now
// ([ErrExhausted], [ErrFenced]). It asks the fence for what the next call will need.
func (g *Generator) TryNext() (ID, error) { return g.next(context.Background(), -1) }

// next is Next and TryNext, which are small enough to become part of their callers.
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
	t, pos, _, err := g.reserve(ctx, 1, maxWait)
	if err != nil {
		return 0, err
	}
	return t.id(pos), nil
}

// tryExact and tryCoarse are the fast paths: one ID of the tick whose limit was
// published, if nothing has to be waited for or asked.
//
// Invariant: a position becomes an ID at most once, because only the add or swap that
// moved the word past it may use it, and only below an end of its own track that was read
// before. The clock decides where the word moves to, never who owns a position.
func (g *Generator) tryExact() (ID, bool) {
	t := g.cur.Load()
	stall(afterTrack)
	if int64(time.Since(g.clock.base)) >= t.sure.Load() {
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
	if pos >= limit {
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
	if pos >= limit {
		return 0, false
	}
	if t.form == shifts {
		return t.shiftID(pos), true
	}
	return t.pieceID(pos), true
}

// publish opens the fast path of an exact generator for the rest of a tick, unless that is not
// known (0). The word is at the start of that tick or above.
func (t *track) publish(tick, sure int64, bound uint64) {
	soft := t.soft.Load()
	if sure == 0 || tick-t.from >= int64(soft) {
		return // every call looks at the clock, or asks for the next grant
	}
	t.limit.Store(min(bound, soft*t.span))
	t.sure.Store(sure)
}

const (
	// parked is the coarse tick of a track nobody keeps the time of. No block of a handle is of
	// that tick or later.
	parked = math.MaxInt64

	// A coarse generator looks at the clock after each coarseSpan of time, and also after as many
	// IDs as it made in the last one, so that timestamps stay close when the ticker gets no
	// processor.
	coarseSpan = time.Millisecond
	minQuota   = 64
	maxQuota   = 1 << 17
)

// publishCoarse lets the fast path of a coarse generator know the time: up to which position it may
// go without another look at the clock. before and after are the word before and after what the
// caller took.
func (g *Generator) publishCoarse(t *track, tick int64, before, after, bound uint64) {
	ns := g.clock.elapsed()
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
		t.halt() // it was sealed while we looked at the clock: handles must not take it for one that goes on
	}
	// After the limit, never before: a ticker that parks takes the limit back last, so either it
	// undoes this one or this starts another.
	if g.ticking.CompareAndSwap(false, true) {
		g.world.Go(g.keepTime)
	}
}

// halt sends all takers to the slow path, until somebody publishes a limit again.
func (t *track) halt() {
	t.coarse.Store(parked)
	t.limit.Store(0)
}

// keepTime is the ticker of a coarse generator. It runs while IDs are being made.
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
		tick := g.clock.tick()
		stall(afterTicker)
		w := t.word.Load()
		if w != last {
			idle = 0
		} else if idle++; idle == 2 {
			g.ticking.Store(false)
			// Read after the store: who published on another track since then starts a new ticker.
			g.cur.Load().halt()
			return
		}
		now, bound := t.window(tick, g.lead, t.end.Load())
		for w < now && !t.word.CompareAndSwap(w, now) {
			w = t.word.Load()
		}
		last = max(w, now)
		if !t.hold.gone.Load() {
			g.publishCoarse(t, tick, w, last, bound)
		}
	}
}
