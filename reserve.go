package snowfence

import (
	"context"
	"fmt"
	"time"
)

// reserve takes between 1 and n positions that follow each other, as many as there are now, and waits when there are none.
func (g *Generator) reserve(ctx context.Context, n uint64) (t *track, pos, count uint64, err error) {
	if g.maxWait < 0 {
		return g.reserveNow(n)
	}
	var start time.Time // of the waiting
	for {
		t, pos, count, why := g.attempt(n)
		if count > 0 {
			return t, pos, count, nil
		}
		if why.err != nil {
			return nil, 0, 0, why.err
		}
		if (why.ask || why.behind) && g.scheme.layout.Cipher == SPARX {
			// Outside of its lease a Randflake generator refuses at once, as its authors ask.
			if err := g.refuse(t, &why); err != nil {
				return nil, 0, 0, err
			}
			continue
		}
		if start.IsZero() {
			start = g.world.Now()
		}
		cause, over := g.pause(ctx, t, &why, start.Add(g.maxWait))
		if over && g.cur.Load() != g.closed {
			if !why.ask {
				why.wait = g.clock.until(why.need)
			}
			return nil, 0, 0, why.error(t, g.world.Now().Sub(start), cause)
		}
	}
}

// reserveNow is reserve without waiting.
func (g *Generator) reserveNow(n uint64) (*track, uint64, uint64, error) {
	for {
		t, pos, count, why := g.attempt(n)
		if count > 0 {
			return t, pos, count, nil
		}
		if why.err != nil {
			return nil, 0, 0, why.err
		}
		if err := g.refuse(t, &why); err != nil {
			return nil, 0, 0, err
		}
	}
}

// refuse returns the error of a caller who does not wait, and nil if the fence held the next grant ready, so that another attempt may
// succeed. The fence answers at once, and if it cannot, is asked in the background.
func (g *Generator) refuse(t *track, why *obstacle) error {
	if !why.ask {
		return why.error(t, 0, nil)
	}
	f := g.ask(t, why.after)
	select {
	case <-f.done:
		if f.err == nil {
			return nil
		}
		return why.error(t, 0, f.err)
	default:
		return why.error(t, 0, nil)
	}
}

// obstacle is why there is no position now.
type obstacle struct {
	err    error         // final: closed, or the end of the layout's life
	ask    bool          // the grant is used up, over, or gone: ask the fence …
	after  int64         // … for a grant that reaches past this tick
	need   int64         // otherwise: the tick the clock has to reach …
	wait   time.Duration // … and how long that takes
	behind bool          // the clock is behind the grant, not just in a tick that is used up
}

func (o *obstacle) error(t *track, waited time.Duration, cause error) error {
	e := &WaitError{Reason: ErrExhausted, Node: -1, Waited: waited, Missing: o.wait, Behind: o.behind, Cause: cause}
	if o.ask {
		e.Reason = ErrFenced
	}
	if t.hold != nil {
		e.Node = t.hold.grant.Node
	}
	return e
}

// lookAgain is how long a call waits for the clock at most before it looks at it again: the clock may have been set right.
const lookAgain = 50 * time.Millisecond

// pause waits for what would remove the obstacle. It is over when waiting cannot help or took too long.
func (g *Generator) pause(ctx context.Context, t *track, why *obstacle, deadline time.Time) (cause error, over bool) {
	var answer <-chan struct{}
	wait := deadline.Sub(g.world.Now())
	var f *flight
	if why.ask {
		f = g.ask(t, why.after)
		answer = f.done
	} else {
		wait = min(wait, why.wait, lookAgain)
	}
	switch g.world.Wait(max(wait, 0), answer, g.life.Done(), ctx.Done()) {
	case 0:
		return f.err, f.err != nil && !f.stopped()
	case 1:
		return nil, false // the next attempt says that it is closed
	case 2:
		return ctx.Err(), true
	}
	switch {
	case g.world.Now().Before(deadline):
		return nil, false
	case f == nil:
		return nil, true
	}
	// The fence knows why there is no grant, and says it when it is asked no longer.
	f.stop()
	g.world.Wait(-1, f.done)
	return answered(f.err), f.err != nil
}

// attempt takes up to n positions if any can be taken now. It reads the clock in both modes and does what try leaves to it: asking ahead
// for the next grant, choosing a rollback value, letting the coarse mode know the time.
func (g *Generator) attempt(n uint64) (t *track, pos, count uint64, why obstacle) {
	t = g.cur.Load()
	if stalling {
		stall(afterTrack)
	}
	if t.hold == nil {
		return t, 0, 0, obstacle{err: ErrClosed}
	}
	tick, sure := g.clock.read()
	if stalling {
		stall(afterClock)
	}
	end := t.end.Load()
	now, bound := t.window(tick, g.lead, end)
	if g.scheme.rollBits > 0 {
		if g.switchRollback(t, tick, now, bound) {
			return g.attempt(n)
		}
	}
	w := t.word.Load()
	before := w
	for count == 0 && (w < bound && now < bound) {
		if stalling {
			stall(afterWord)
		}
		if w < now {
			if k := min(n, bound-now); t.word.CompareAndSwap(w, now+k) {
				pos, count = now, k
				break
			}
			w = t.word.Load()
			continue
		}
		if n == 1 {
			if pos = t.word.Add(1) - 1; pos >= bound {
				break // others were faster: this position is lost, and nobody else gets it
			}
			count = 1
			break
		}
		// A batch takes by swap: an add would carry the word past the bound by a batch for each core.
		if k := min(n, bound-w); t.word.CompareAndSwap(w, w+k) {
			pos, count = w, k
			break
		}
		w = t.word.Load()
	}
	if stalling {
		stall(afterTake)
	}
	if count == 0 {
		t.halt() // or whoever tries again and again without waiting carries the word away
		return t, 0, 0, g.obstacle(t, tick, now, end)
	}
	g.askAhead(t, tick, pos+count)
	if g.coarse {
		g.publishCoarse(t, tick, before, pos+count, bound)
	} else if sure > 0 {
		t.publish(tick, sure, bound)
	}
	return t, pos, count, obstacle{}
}

// publish opens the fast path of an exact generator for the rest of a tick. The word is at the start of that tick or above.
func (t *track) publish(tick, sure int64, bound uint64) {
	soft := t.soft.Load()
	if tick-t.from >= int64(soft) {
		return // every call asks for the next grant
	}
	t.limit.Store(min(bound, soft*t.span))
	t.sure.Store(sure)
}

// window returns the position at which the current tick starts, cut to the grant, and the position that may not be reached now:
// min(until, now + lead + 1) × span.
func (t *track) window(tick, lead int64, end uint64) (now, bound uint64) {
	rel := tick - t.from
	until := int64(end / t.span)
	now = uint64(min(max(rel, 0), until)) * t.span
	bound = uint64(min(max(rel+lead+1, 0), until)) * t.span
	return now, bound
}

// obstacle says why nothing could be taken from t.
func (g *Generator) obstacle(t *track, tick int64, now, end uint64) obstacle {
	next := max(t.word.Load(), now)
	if next >= end { // sealed, or used up to the end of the grant, or the grant is over
		after := max(tick, 0)
		if next < sealed {
			after = max(after, t.from+int64(next/t.span))
		}
		if after > g.scheme.MaxTick() {
			return obstacle{err: fmt.Errorf("snowfence: %w", lifetimeError(g.scheme))}
		}
		return obstacle{ask: true, after: after}
	}
	need := t.from + int64(next/t.span) - g.lead // the first tick at which next is inside the window
	return obstacle{need: need, wait: max(g.clock.until(need), 20*time.Microsecond), behind: tick < t.from || need > tick+1}
}
