package snowfence

import (
	"math"
	"time"
)

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
