package snowfence

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/internal/clock"
	"github.com/snowfence/snowfence/internal/world"
)

// flight is one question to the fence. All callers that need its answer
// wait for done.
type flight struct {
	done chan struct{}
	err  error // valid when done
	stop context.CancelFunc
}

// refusalError is why the fence granted nothing. It is nil if asking again
// helps: a caller that could wait no longer cancelled it, or it named a
// tick of a clock that was ahead.
func (f *flight) refusalError() error {
	if errors.Is(f.err, context.Canceled) || errors.Is(f.err, clock.ErrCorrected) {
		return nil
	}
	return f.err
}

// answered is the answer of a fence that was stopped. It hides our own
// cancellation, so that callers do not mistake it for theirs.
func answered(err error) error {
	if err == nil || err == context.Canceled {
		return nil
	}
	return stoppedError{err}
}

type stoppedError struct{ error }

func (e stoppedError) Is(target error) bool {
	return target != context.Canceled && errors.Is(e.error, target)
}

func (e stoppedError) As(target any) bool { return errors.As(e.error, target) }

// fetchGrant gets a grant and puts it to use. Only the owner of the flight
// calls it, so one goroutine at a time asks the fence.
func (g *Generator) fetchGrant(t *track, after int64, get func() (Grant, error)) error {
	for {
		g.mu.Lock()
		revoked := g.revoked
		g.mu.Unlock()
		machine := g.machine.Now() // first: what is granted before a resumption is of the machine before
		gr, err := get()
		if errors.Is(err, clock.ErrCorrected) {
			g.clock.Correct()
		}
		if err != nil {
			return err
		}
		gr = gr.norm(g.scheme.layout)
		if gr.Until <= after {
			return fmt.Errorf("the fence granted node %d up to tick %d, not past %d", gr.Node, gr.Until, after)
		}
		stall(beforeSeal)
		again, err := g.installGrant(gr, machine, revoked)
		if err != nil && !t.hold.renewedBy(gr) {
			// A new grant that cannot be used. Close gives back what renews
			// the present one.
			err = errors.Join(err, g.fence.Release(context.Background(), gr, gr.From))
		}
		if !again {
			return err
		}
	}
}

// installGrant puts a grant to use: it raises the end of the hold that gr
// renews, or seals the old hold and publishes a new one. again means that
// the fence revoked a grant since it was asked.
func (g *Generator) installGrant(gr Grant, machine world.Machine, revoked int64) (again bool, err error) {
	now := max(g.clock.Tick(), 0)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.revoked != revoked {
		return true, nil
	}
	t := g.cur.Load()
	if t.hold == nil {
		return false, ErrClosed
	}
	old := t.hold
	if old.renewedBy(gr) && !old.sealed() && (old.raiseEnd(gr.Until, now) || old.until() >= gr.Until) {
		return false, nil // it gained ticks, or another answer brought them
	}
	start := gr.From
	if g.scheme.rollBits == 0 || old.overlaps(gr) {
		// Order: IDs of the new grant come after IDs of the old one,
		// whatever its node. Uniqueness needs only From.
		start = max(start, old.seal())
	}
	h, err := newHold(g.scheme, machine, gr, start, now, g.lead)
	if err != nil {
		return false, err
	}
	old.seal()
	stall(afterSeal)
	g.held = h
	for {
		if g.cur.CompareAndSwap(t, h.tracks[0]) {
			return false, nil
		}
		t = g.cur.Load() // another rollback value of the sealed hold; Close needs the mutex
	}
}

// askAhead asks for the next grant in the background when the clock or the
// positions pass the soft bound.
func (g *Generator) askAhead(t *track, tick int64, pos uint64) {
	soft, until := t.soft.Load(), t.until.Load()
	if tick-t.from < int64(soft) && pos < soft*t.span || soft >= until {
		return
	}
	g.mu.Lock()
	if t.soft.Load() != soft { // another call was here, or it was raised
		g.mu.Unlock()
		return
	}
	t.soft.Store(until)
	g.mu.Unlock()
	if after := t.from + int64(until); after <= g.scheme.MaxTick() {
		g.world.Go(func() { g.askFence(t, after, g.clock.Corrections()) })
	}
}

// askFence asks the fence for a grant past the tick after, unless it is
// being asked, and returns the question. A grant that the fence has ready
// is in use when ask returns.
//
// corrections is the clock's count when after was read: a tick of a clock
// that was ahead would be waited for until it comes.
func (g *Generator) askFence(t *track, after, corrections int64) *flight {
	g.mu.Lock()
	if f := g.flight; f != nil {
		g.mu.Unlock()
		return f
	}
	f := &flight{done: make(chan struct{})}
	var ctx context.Context
	ctx, f.stop = context.WithCancel(g.life)
	if g.life.Err() != nil || t.hold != g.held || corrections != g.clock.Corrections() {
		// Closed, or there is another grant or another time since the
		// caller looked.
		if g.life.Err() != nil {
			f.err = ErrClosed
		}
		g.mu.Unlock()
		f.stop()
		close(f.done)
		return f
	}
	g.flight = f
	g.mu.Unlock()

	held := func() (Grant, error) {
		if gr, ok := g.fence.Held(after); ok {
			return gr, nil
		}
		return Grant{}, ErrFenced
	}
	if err := g.fetchGrant(t, after, held); err == nil {
		g.landFlight(f, nil)
		return f
	}
	wait := func() (Grant, error) { return g.fence.Grant(ctx, after) } // Close ends it, too
	g.world.Go(func() { g.landFlight(f, g.fetchGrant(t, after, wait)) })
	return f
}

func (g *Generator) landFlight(f *flight, err error) {
	g.mu.Lock()
	f.err = err
	g.flight = nil
	g.mu.Unlock()
	f.stop()
	close(f.done)
}
