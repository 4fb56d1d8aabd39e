package process

import (
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
)

// fence is a fence of the caller, whose grants enter the set before the
// generator has them. They leave it together, when the handle is closed.
// Its generator calls it from one goroutine at a time.
type fence struct {
	snowfence.Fence
	set *set
	use *use
	key spaceKey

	latest, before granted // a generator gives back either
	entered        bool    // latest is one
}

// granted is a grant as the fence gave it, without its end, which renewals
// move, and the first tick that the generator got of it.
type granted struct {
	snowfence.Grant
	from int64
}

func newFence(s *set, f snowfence.Fence) (*fence, error) {
	key, _, err := partOf(f.Scheme(), snowfence.Grant{})
	return &fence{Fence: f, set: s, use: &use{users: 1}, key: key}, err
}

// Bind implements [snowfence.Binder], also over a fence that has no Bind.
func (f *fence) Bind(seal func() int64) (func(), error) {
	f.use.seal = seal
	if b, ok := f.Fence.(snowfence.Binder); ok {
		return b.Bind(seal)
	}
	return func() {}, nil
}

func (f *fence) Held(after int64) (snowfence.Grant, bool) {
	gr, ok := f.Fence.Held(f.least(after))
	if !ok {
		return gr, false
	}
	gr, err := f.enter(gr)
	return gr, err == nil
}

func (f *fence) Grant(ctx context.Context, after int64) (snowfence.Grant, error) {
	gr, err := f.Fence.Grant(ctx, f.least(after))
	if err != nil {
		return gr, err
	}
	return f.enter(gr)
}

// least returns the tick that a grant has to reach past: what enters has to
// leave something above the floor.
func (f *fence) least(after int64) int64 {
	if f.entered {
		return after
	}
	f.set.mu.Lock()
	defer f.set.mu.Unlock()
	return max(after, f.set.space(f.key).floor)
}

// Release gives a grant back as it came.
func (f *fence) Release(ctx context.Context, gr snowfence.Grant, used int64) error {
	for _, g := range []granted{f.latest, f.before} {
		if g.Node == gr.Node && g.from == gr.From {
			gr.From = g.From
			break
		}
	}
	return f.Fence.Release(ctx, gr, used)
}

// enter returns gr as the generator gets it: it begins at the floor or
// above.
func (f *fence) enter(gr snowfence.Grant) (snowfence.Grant, error) {
	var none snowfence.Grant
	s := f.Scheme()
	_, p, err := partOf(s, gr)
	if err != nil {
		return none, err
	}
	f.set.mu.Lock()
	defer f.set.mu.Unlock()
	if f.use.gone {
		return none, snowfence.ErrClosed
	}
	came := gr
	came.Until = 0
	if f.entered && f.latest.Grant == came {
		gr.From = f.latest.from
		return gr, nil
	}
	f.use.name = nodeName(s, gr.Node)
	bare := gr.Until > s.MaxTick()
	if gr.From, err = f.set.enter(f.use, f.set.space(f.key), p, gr.From, bare, false); err != nil {
		return none, err
	}
	if gr.From >= gr.Until {
		at := func(tick int64) string { return s.Layout().TimeOf(tick).Format(time.RFC3339Nano) }
		return none, fmt.Errorf("snowfence: the fence granted node %d until %s, "+
			"and this process used all times until %s", gr.Node, at(gr.Until), at(gr.From))
	}
	f.before, f.latest, f.entered = f.latest, granted{came, gr.From}, true
	return gr, nil
}
