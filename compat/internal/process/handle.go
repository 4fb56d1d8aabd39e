package process

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/snowfence/snowfence"
)

// Options is what a layer chooses for its generator.
type Options struct {
	// Lead is as in [snowfence.Config]. A generator in use keeps the lead
	// with which it was opened.
	Lead int64

	// From and Until are the ticks that a bare number may stamp, half-open.
	// Until 0 is all.
	From, Until int64

	// Replace takes the place of bare numbers in use that overlap the new
	// one. Their handles return [snowfence.ErrClosed] from then on.
	Replace bool

	// Time is as in [snowfence.Config]. It is called with a lock held. A
	// generator that has one is not shared.
	Time snowfence.TimeSource
}

func (o *Options) generator(f snowfence.Fence) (*snowfence.Generator, error) {
	return snowfence.New(snowfence.Config{Fence: f, Lead: o.Lead, Time: o.Time})
}

// Handle uses a generator, alone or together with others. It is safe for
// concurrent use. A Handle that is kept keeps its generator.
type Handle struct {
	gen    atomic.Pointer[snowfence.Generator] // nil after Close
	scheme *snowfence.Scheme
	use    *use
	close  func(*snowfence.Generator) error
}

// Open returns a handle on the generator of a bare node. Handles of equal
// parts and ticks share it. An overlap that is not equal is an
// [ErrOverlap], unless o.Replace.
func Open(s *snowfence.Scheme, node int64, o Options) (*Handle, error) {
	return shared.open(s, node, o)
}

func (s *set) open(sch *snowfence.Scheme, node int64, o Options) (*Handle, error) {
	u, err := s.bare(sch, node, o)
	if err != nil {
		return nil, err
	}
	h := &Handle{scheme: sch, use: u}
	h.gen.Store(u.number.gen)
	lost := runtime.AddCleanup(h, s.drop, u)
	h.close = func(*snowfence.Generator) error {
		lost.Stop()
		s.drop(u)
		return nil
	}
	return h, nil
}

// On returns a handle on a generator over any fence. It is not shared.
// Close gives the grant back. A grant that overlaps a bare number in use is
// an [ErrOverlap], also later.
func On(f snowfence.Fence, o Options) (*Handle, error) { return shared.on(f, o) }

func (s *set) on(f snowfence.Fence, o Options) (*Handle, error) {
	known, err := newFence(s, f)
	if err != nil {
		return nil, err
	}
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leave(known.use)
	}
	g, err := o.generator(known)
	if err != nil {
		leave()
		return nil, err
	}
	h := &Handle{scheme: g.Scheme(), use: known.use, close: func(g *snowfence.Generator) error {
		leave()
		return g.Close()
	}}
	h.gen.Store(g)
	return h, nil
}

// Extend moves the end of a bare number's ticks up to until, for all who
// share it, and reports whether it was lower.
func (h *Handle) Extend(until int64) bool {
	n := h.use.number
	for {
		old := n.until.Load()
		if until <= old {
			return false
		}
		if n.until.CompareAndSwap(old, until) {
			return true
		}
	}
}

// Until returns the end of a bare number's ticks.
func (h *Handle) Until() int64 { return h.use.number.until.Load() }

// Scheme returns the scheme with which the handle was opened.
func (h *Handle) Scheme() *snowfence.Scheme { return h.scheme }

// Grant returns the grant in use, and false if there is none.
func (h *Handle) Grant() (snowfence.Grant, bool) {
	g := h.gen.Load()
	if g == nil {
		return snowfence.Grant{}, false
	}
	gr, ok := g.Grant()
	runtime.KeepAlive(h)
	return gr, ok
}

// Next returns a new ID. It waits until ctx ends for what can come back:
// the next tick, a clock behind, a fence without a grant. It fails with
// [snowfence.ErrLifetime] and [snowfence.ErrClosed] at once.
func (h *Handle) Next(ctx context.Context) (snowfence.ID, error) {
	g := h.gen.Load()
	if g == nil {
		return 0, snowfence.ErrClosed
	}
	id, err := g.Next(ctx)
	if err == nil {
		return id, nil
	}
	return h.nextLater(ctx, err)
}

// NextSoon is Next that gives up after a second, and says why.
func (h *Handle) NextSoon(ctx context.Context) (snowfence.ID, error) {
	g := h.gen.Load()
	if g == nil {
		return 0, snowfence.ErrClosed
	}
	id, err := g.Next(ctx)
	runtime.KeepAlive(h)
	return id, err
}

// Must is Next for calls that return no error: it panics where waiting is
// in vain. It never returns 0, and logs the reason of a long wait.
func (h *Handle) Must() snowfence.ID {
	if g := h.gen.Load(); g != nil {
		if id, err := g.Next(context.Background()); err == nil && id != 0 {
			return id
		}
	}
	return h.mustLater()
}

// TryNext returns a new ID without waiting, or why there is none now.
func (h *Handle) TryNext() (snowfence.ID, error) {
	g := h.gen.Load()
	if g == nil {
		return 0, snowfence.ErrClosed
	}
	id, err := g.TryNext()
	// Without this h could be garbage, and its generator let go, during the
	// call. Next and Must need h afterwards.
	runtime.KeepAlive(h)
	return id, err
}

// Fill writes new IDs to dst, in increasing order, and waits as Next does.
// After an error the first n are good.
func (h *Handle) Fill(ctx context.Context, dst []snowfence.ID) (n int, err error) {
	fill := func() error {
		g := h.gen.Load()
		if g == nil {
			return snowfence.ErrClosed
		}
		k, err := g.Fill(ctx, dst[n:])
		n += k
		return err
	}
	err = h.use.waits.out(ctx, fill(), fill)
	runtime.KeepAlive(h)
	return n, err
}

// Close ends the use of this handle: its later calls return
// [snowfence.ErrClosed]. Others who share its generator go on. Over a fence
// it closes the generator. A second Close does nothing.
func (h *Handle) Close() error {
	g := h.gen.Swap(nil)
	if g == nil {
		return nil
	}
	err := h.close(g)
	runtime.KeepAlive(h)
	return err
}

// nextLater is the rest of a Next whose first try ended in err.
func (h *Handle) nextLater(ctx context.Context, err error) (id snowfence.ID, _ error) {
	err = h.use.waits.out(ctx, err, func() (err error) {
		g := h.gen.Load()
		if g == nil {
			return snowfence.ErrClosed
		}
		id, err = g.Next(ctx)
		return err
	})
	runtime.KeepAlive(h)
	return id, err
}

// MustFill is Fill for calls that return no error, as Must is Next for
// them.
func (h *Handle) MustFill(dst []snowfence.ID) {
	if _, err := h.Fill(context.Background(), dst); err != nil {
		stop(err)
	}
	if len(dst) > 0 && dst[0] == 0 {
		copy(dst, dst[1:])
		dst[len(dst)-1] = h.Must()
	}
}

func (h *Handle) mustLater() snowfence.ID {
	for {
		id, err := h.Next(context.Background())
		switch {
		case err != nil:
			stop(err)
		case id != 0:
			return id
		}
	}
}

// stop panics for a caller that no error can reach.
func stop(err error) {
	if errors.Is(err, snowfence.ErrClosed) {
		err = fmt.Errorf("snowfence: an ID was asked for after Close: close the generator after its last use: %w", err)
	}
	panic(err)
}
