package clib

import (
	"context"
	"sync"

	"github.com/snowfence/snowfence"
)

// watched is a fence that raises the beat when its grant is lost, or is
// another one.
type watched struct {
	snowfence.Fence
	beat *beat

	mu   sync.Mutex
	last snowfence.Grant // with Until 0
}

// Bind implements [snowfence.Binder]. The beat rises after the seal,
// because a ring that refills before the seal would keep IDs until the beat
// rises again.
func (w *watched) Bind(seal func() int64) (func(), error) {
	b, ok := w.Fence.(snowfence.Binder)
	if !ok {
		return func() {}, nil
	}
	return b.Bind(func() int64 {
		used := seal()
		w.beat.raise()
		return used
	})
}

// Grant implements [snowfence.Fence].
func (w *watched) Grant(ctx context.Context, after int64) (snowfence.Grant, error) {
	g, err := w.Fence.Grant(ctx, after)
	if err == nil {
		w.compareGrant(g)
	}
	return g, err
}

// Held implements [snowfence.Fence].
func (w *watched) Held(after int64) (snowfence.Grant, bool) {
	g, ok := w.Fence.Held(after)
	if ok {
		w.compareGrant(g)
	}
	return g, ok
}

func (w *watched) compareGrant(g snowfence.Grant) {
	g.Until = 0
	w.mu.Lock()
	defer w.mu.Unlock()
	if g != w.last {
		w.last = g
		w.beat.raise()
	}
}
