package snowfence

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// closeWait bounds how long Close gives back.
const closeWait = 5 * time.Second

// ending is the state of Close and Shutdown.
type ending struct {
	turn   chan struct{} // holds one value; its holder gives back and may touch what follows
	unbind func()        // nil while the fence may serve others
	back   bool          // the fence has its grant back

	closing chan struct{} // closed when the first Close returns; nil before it; guarded by Generator.mu
	result  error         // of the first Close; valid when closing is closed
}

// Close ends the generator at once: all waiting and later calls return
// [ErrClosed], and IDs that were taken stay valid. Then it gives the node
// back, and waits for that at most five seconds, and no longer than the
// grant lasts. The error says until when the node stays taken; call
// [Generator.Shutdown] to try again. A second Close returns the result of
// the first.
func (g *Generator) Close() error {
	e := &g.ending
	g.mu.Lock()
	first := e.closing == nil
	if first {
		e.closing = make(chan struct{})
	}
	g.mu.Unlock()
	if !first {
		g.world.Wait(-1, e.closing)
		return e.result
	}
	defer close(e.closing)
	ctx, cancel := g.world.WithTimeout(context.Background(), closeWait)
	defer cancel()
	e.result = g.Shutdown(ctx)
	return e.result
}

// Shutdown is Close with your own time limit: it ends the generator at
// once, even if ctx has ended. Then it tries to give the node back until
// ctx ends. Call it again after an error.
func (g *Generator) Shutdown(ctx context.Context) error {
	h := g.stopAsking()
	e := &g.ending
	select {
	case <-e.turn:
	default:
		if g.world.Wait(-1, e.turn, ctx.Done()) != 0 {
			return g.keptError(ctx, h)
		}
	}
	defer func() { e.turn <- struct{}{} }()
	if e.back {
		return nil
	}
	g.mu.Lock()
	f := g.flight
	g.mu.Unlock()
	if f != nil && g.world.Wait(-1, f.done, ctx.Done()) != 0 {
		return g.keptError(ctx, h)
	}
	if err := g.bindFence(); errors.Is(err, ErrBound) {
		e.back = true // after a failed try the fence went on with another generator, which gives back now
		return nil
	} else if err != nil {
		return fmt.Errorf("snowfence: closing: %w", err)
	}
	defer g.unbindFence()
	gr := h.grant
	gr.Until = h.until()
	if err := g.fence.Release(ctx, gr, h.seal()); err != nil {
		return fmt.Errorf("snowfence: closing: %w", err)
	}
	e.back = true
	return nil
}

// stopAsking seals the hold in use, ends questions to the fence, and
// returns that hold.
func (g *Generator) stopAsking() *hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cur.Swap(g.closed) != g.closed {
		stall(afterClose)
		g.held.seal()
		g.end()
	}
	return g.held
}

// keptError is the error when no time was left to give back.
func (g *Generator) keptError(ctx context.Context, h *hold) error {
	return fmt.Errorf("snowfence: closing: node %d stays taken until %s: the fence has not answered: %w",
		h.grant.Node, g.scheme.layout.TimeOf(h.until()).Format(time.RFC3339Nano), ctx.Err())
}

// bindFence claims the fence unless it is claimed. The caller has the turn,
// or is New.
func (g *Generator) bindFence() (err error) {
	if g.ending.unbind != nil {
		return nil
	}
	unbind := func() {}
	if b, ok := g.fence.(Binder); ok {
		unbind, err = b.Bind(g.revoke)
	}
	if err == nil {
		g.ending.unbind = unbind
	}
	return err
}

func (g *Generator) unbindFence() {
	g.ending.unbind()
	g.ending.unbind = nil
}

// revoke is called by the fence when its grant is gone. It seals the hold
// in use, and refuses earlier grants.
func (g *Generator) revoke() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.revoked++
	if g.held == nil {
		return 0
	}
	return g.held.seal()
}
