package snowfence

import (
	"context"
	"fmt"
	"time"
)

// reservePositions takes 1 to n successive positions, as many as there are
// now. Without any it waits for at most maxWait, and not at all if that is
// negative.
func (g *Generator) reservePositions(
	ctx context.Context, n uint64, maxWait time.Duration,
) (t *track, pos, count uint64, err error) {
	var start time.Time // of the waiting
	for {
		t, pos, count, why := g.takeUpTo(n)
		if count > 0 || why.err != nil {
			return t, pos, count, why.err
		}
		// Without a lease a Randflake generator refuses at once, as its
		// authors ask.
		if maxWait < 0 || (why.ask || why.behind) && g.scheme.layout.Cipher == SPARX {
			err := g.refuseNow(t, &why)
			if err == nil {
				continue
			}
			return nil, 0, 0, err
		}
		if start.IsZero() {
			start = g.world.Now()
		}
		cause, over := g.pauseFor(ctx, t, &why, start.Add(maxWait))
		if !over {
			continue
		}
		if g.cur.Load() == g.closed { // whatever the fence says about its end
			return nil, 0, 0, ErrClosed
		}
		why.wait = g.clock.Until(why.need) // none for a grant
		return nil, 0, 0, why.error(t, g.world.Now().Sub(start), cause)
	}
}

// refuseNow returns the error of a caller that does not wait, or nil if the
// fence held the next grant ready: try again then. Otherwise the fence is
// asked in the background.
func (g *Generator) refuseNow(t *track, why *obstacle) error {
	var cause error
	if why.ask {
		f := g.askFence(t, why.after, why.corrections)
		select {
		case <-f.done:
			if f.err == nil {
				return nil
			}
			cause = f.err
		default:
		}
	}
	return why.error(t, 0, cause)
}

// obstacle is why there is no position now.
type obstacle struct {
	err         error         // final: closed, or the end of the layout's life
	ask         bool          // the grant is used up, over, or gone: ask the fence …
	after       int64         // … for a grant that reaches past this tick
	corrections int64         // Clock.Corrections before after was read
	need        int64         // otherwise: the tick the clock has to reach …
	wait        time.Duration // … and how long that takes
	behind      bool          // the clock is behind the grant, not just in a tick that is used up
}

func (o *obstacle) error(t *track, waited time.Duration, cause error) error {
	reason := ErrExhausted
	if o.ask {
		reason = ErrFenced
	}
	node := t.hold.grant.Node
	return &WaitError{Reason: reason, Node: node, Waited: waited, Missing: o.wait, Behind: o.behind, Cause: cause}
}

// lookAgain re-checks the clock while a call waits for it, in case the
// clock is corrected.
const lookAgain = 50 * time.Millisecond

// pauseFor waits for what removes the obstacle. over means that waiting
// cannot help or took too long.
func (g *Generator) pauseFor(
	ctx context.Context, t *track, why *obstacle, deadline time.Time,
) (cause error, over bool) {
	var answer <-chan struct{}
	wait := deadline.Sub(g.world.Now())
	var f *flight
	if why.ask {
		f = g.askFence(t, why.after, why.corrections)
		answer = f.done
	} else {
		wait = min(wait, why.wait, lookAgain)
	}
	switch g.world.Wait(max(wait, 0), answer, g.life.Done(), ctx.Done()) {
	case 0:
		if f.refusalError() == nil {
			return nil, false
		}
		return f.err, true
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
	// The fence knows why there is no grant, and says so when it is
	// stopped.
	f.stop()
	switch {
	case g.world.Wait(lookAgain, f.done) != 0: // it does not stop, as on a slow disk
		return nil, true
	case f.err == nil:
		return nil, false
	}
	return answered(f.err), true
}

// takeUpTo takes up to n positions if there are any now. It also does the
// slow work of the fast paths: it asks ahead, chooses a rollback value and
// publishes the time.
func (g *Generator) takeUpTo(n uint64) (t *track, pos, count uint64, why obstacle) {
	t = g.cur.Load()
	stall(afterTrack)
	if t.hold == nil {
		return t, 0, 0, obstacle{err: ErrClosed}
	}
	corrections := g.clock.Corrections()
	tick, sure := g.clock.Read()
	stall(afterClock)
	end := t.end.Load()
	now, bound := t.window(tick, g.lead, end)
	if g.switchRollback(t, tick, now, bound) {
		return g.takeUpTo(n)
	}
	before := t.word.Load()
	for w := before; ; w = t.word.Load() {
		if pos = max(w, now); pos >= bound {
			break
		}
		if w <= now {
			pos = t.beginTick(g.spread, now)
		}
		stall(afterWord)
		if n == 1 && w == pos {
			if pos = t.word.Add(1) - 1; pos >= bound {
				break // others were faster: this position is lost: no call gets it
			}
			count = 1
			break
		}
		// A batch takes by swap: adds would carry the word past the bound
		// by a batch for each core.
		k := min(n, bound-pos)
		if !t.word.CompareAndSwap(w, pos+k) {
			continue
		}
		count = k
		break
	}
	stall(afterTake)
	if count == 0 {
		t.closeFastPath() // or a caller that retries without waiting carries the word away
		why = g.obstacleOf(t, tick, now, end)
		why.corrections = corrections
		return t, 0, 0, why
	}
	g.askAhead(t, tick, pos+count)
	if g.coarse {
		g.publishCoarse(t, tick, before, pos+count, bound)
	} else {
		t.publish(tick, sure, bound)
	}
	if t.machine.Copied() { // last, because a look at the clock may take long
		g.leaveGrant(t)
		return g.takeUpTo(n)
	}
	return t, pos, count, obstacle{}
}

// leaveGrant ends a grant that a copy of this machine has, too. The fence
// is asked for another one.
func (g *Generator) leaveGrant(t *track) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t.hold.seal()
}

// switchRollback moves the generator to another rollback value of the hold
// when the clock stepped back: to a value with a word at or below now, so
// that ticks used before get other IDs. It reports whether the generator's
// pointer moved, by this goroutine or another.
//
// Each rollback value keeps its word for the life of a hold, so it never
// repeats a tick; if none is free, the generator waits. No word is sealed
// here: goroutines may go on with the earlier track.
func (g *Generator) switchRollback(t *track, tick int64, now, bound uint64) bool {
	w := t.word.Load()
	if w >= sealed || tick < t.from || w < bound+t.span { // less than a tick too far is a sequence that is used up
		return false
	}
	tracks := t.hold.tracks
	n := len(tracks)
	for i := range tracks {
		if tracks[i] != t {
			continue
		}
		for j := 1; j < n; j++ {
			if s := tracks[(i+j)%n]; s.word.Load() <= now {
				s.closeFastPath() // what was published on it is of an earlier time
				g.cur.CompareAndSwap(t, s)
				return true
			}
		}
	}
	return g.cur.Load() != t
}

// window returns the position at which the current tick starts, cut to the
// grant, and the first position above what may be taken now: min(until, now
// + lead + 1) × span.
func (t *track) window(tick, lead int64, end uint64) (now, bound uint64) {
	rel := tick - t.from
	until := int64(end / t.span)
	now = uint64(min(max(rel, 0), until)) * t.span
	bound = uint64(min(max(rel+lead+1, 0), until)) * t.span
	return now, bound
}

// obstacleOf says why nothing could be taken from t.
func (g *Generator) obstacleOf(t *track, tick int64, now, end uint64) obstacle {
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
	wait := max(g.clock.Until(need), 20*time.Microsecond)
	return obstacle{need: need, wait: wait, behind: tick < t.from || need > tick+1}
}
