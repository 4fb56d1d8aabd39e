package process

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
)

// fenced is a fence whose grants the registry knows while a generator uses them.
// Its generator calls lose at any time, and all else from one goroutine at a time.
type fenced struct {
	snowfence.Fence
	registry *registry
	key      spaceKey
	seal     func() int64 // of its one generator
	layer    Enter

	// The latest two grants: a generator gives back either.
	latest, before granted

	// The registry's mutex guards what follows.
	space  *space // nil while no grant is in it
	rects  []rectangle
	from   int64
	bare   bool
	left   func(used int64)
	ready  *snowfence.Grant // the one in the space, if that before was sealed for it
	closed bool
}

// granted is a grant as the fence gave it, without its end, and the first tick that the
// generator got of it.
type granted struct {
	snowfence.Grant
	from int64
}

// endless returns gr without its end, which renewals move.
func endless(gr snowfence.Grant) snowfence.Grant {
	gr.Until = 0
	return gr
}

func newFenced(r *registry, f snowfence.Fence, layer Enter) (*fenced, error) {
	if layer == nil {
		layer = func(int64, int64) (int64, func(int64), error) { return 0, func(int64) {}, nil }
	}
	key, _, _, err := place(f.Scheme(), 0)
	return &fenced{Fence: f, registry: r, key: key, layer: layer}, err
}

// Bind implements [snowfence.Binder], over fences that are none, too.
func (f *fenced) Bind(seal func() int64) (func(), error) {
	f.seal = seal
	unbind := func() {}
	if b, ok := f.Fence.(snowfence.Binder); ok {
		var err error
		if unbind, err = b.Bind(f.lose); err != nil {
			return nil, err
		}
	}
	return func() {
		f.leave() // a first grant that the generator did not use
		unbind()
	}, nil
}

func (f *fenced) Held(after int64) (snowfence.Grant, bool) {
	if gr := f.entered(after); gr != nil {
		return *gr, true
	}
	gr, ok := f.Fence.Held(f.least(after))
	if !ok {
		return gr, false
	}
	gr, err := f.enter(gr)
	return gr, err == nil
}

func (f *fenced) Grant(ctx context.Context, after int64) (snowfence.Grant, error) {
	if gr := f.entered(after); gr != nil {
		return *gr, nil
	}
	gr, err := f.Fence.Grant(ctx, f.least(after))
	if err != nil {
		return gr, err
	}
	return f.enter(gr)
}

// Release gives a grant back as it came. Whatever the fence answers, nothing more is
// made of it.
func (f *fenced) Release(ctx context.Context, gr snowfence.Grant, used int64) error {
	f.leave()
	for _, g := range []granted{f.latest, f.before} {
		if g.Node == gr.Node && g.from == gr.From {
			gr.From = g.From
			break
		}
	}
	return f.Fence.Release(ctx, gr, used)
}

// entered returns the grant for which enter sealed the one before: the generator asks
// again after a seal.
func (f *fenced) entered(after int64) *snowfence.Grant {
	f.registry.mu.Lock()
	defer f.registry.mu.Unlock()
	if f.ready == nil || f.ready.Until <= after {
		return nil
	}
	return f.ready
}

// least returns the tick that a grant has to reach past: a new one has to leave
// something above the floor.
func (f *fenced) least(after int64) int64 {
	f.registry.mu.Lock()
	defer f.registry.mu.Unlock()
	if sp := f.registry.spaces[f.key]; sp != nil && f.space == nil {
		return max(after, sp.floor)
	}
	return after
}

// enter returns gr as the generator gets it: a new one begins above the floor.
//
// Order: what was used of the grant before is below the floor by then.
func (f *fenced) enter(gr snowfence.Grant) (snowfence.Grant, error) {
	renews := f.latest.Grant == endless(gr)
	sealed := !renews && f.leave()
	r := f.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.closed {
		return snowfence.Grant{}, snowfence.ErrClosed
	}
	if !renews || f.space == nil {
		if err := r.enterGrant(f, gr); err != nil {
			return snowfence.Grant{}, err
		}
		f.before, f.latest = f.latest, granted{endless(gr), f.from}
	}
	gr.From = f.from
	if sealed {
		f.ready = &gr
	}
	return gr, nil
}

// leave ends the use of the grant that is entered, and reports whether one was.
func (f *fenced) leave() bool {
	f.registry.mu.Lock()
	in := f.space != nil
	f.registry.mu.Unlock()
	if in {
		f.lose()
	}
	return in
}

// lose seals the generator, and returns the first tick that it did not use.
//
// Order: the seal comes before the floor is raised, and that before anybody else
// gets the numbers.
func (f *fenced) lose() int64 {
	used := f.seal()
	f.registry.mu.Lock()
	defer f.registry.mu.Unlock()
	if f.space != nil {
		var end int64
		if used > f.from { // else it used nothing, perhaps far ahead of the clock
			f.space.floor = max(f.space.floor, used)
			end = used
		}
		f.left(end)
		delete(f.space.fenced, f)
		f.space, f.ready = nil, nil
	}
	return used
}

// close ends what Close of the generator could not, when the fence did not answer.
func (f *fenced) close(g *snowfence.Generator) error {
	err := g.Close()
	f.registry.mu.Lock()
	f.closed = true
	f.registry.mu.Unlock()
	f.leave()
	return err
}

// enterGrant adds a grant to its space, or says who is in its way. Bare generators
// that nobody uses are let go.
func (r *registry) enterGrant(f *fenced, gr snowfence.Grant) error {
	s := f.Scheme()
	l := s.Layout()
	var of shape
	var rects []rectangle
	for i := range max(gr.Nodes, 1) {
		_, same, rect, err := placeSlice(s, gr.Node+i, gr.FirstSeq, gr.LastSeq)
		if err != nil {
			return err
		}
		of, rects = same, append(rects, rect)
	}
	sp := r.space(f.key)
	bare := gr.Until > s.MaxTick()
	if sp.fencedOver(rects, !bare) {
		return fmt.Errorf("snowfence: %w: node %d of the layout %s is in use over another fence, and one of both "+
			"fences is a number without an end: close that one first, or take each number from a lease",
			ErrOverlap, gr.Node, l)
	}
	others := sp.bareOver(of, rects)
	for _, o := range others {
		if o.users > 0 {
			return fmt.Errorf("snowfence: %w: a fence granted node %d of the layout %s, and node %d of the layout %s "+
				"is in use without a fence: close that one first, or take each number from a lease",
				ErrOverlap, gr.Node, l, o.node, o.scheme.Layout())
		}
	}
	for _, o := range others {
		r.letGo(o)
	}
	floor, left, err := f.layer(gr.Node, max(gr.Nodes, 1))
	if err != nil {
		return err
	}
	from := max(gr.From, sp.floor, floor)
	if from >= gr.Until {
		left(0)
		return fmt.Errorf("snowfence: the fence granted node %d until %s, and this process used all times until %s",
			gr.Node, l.TimeOf(gr.Until).Format(time.RFC3339Nano), l.TimeOf(from).Format(time.RFC3339Nano))
	}
	f.space, f.rects, f.from, f.bare, f.left = sp, rects, from, bare, left
	sp.fenced[f] = true
	r.spaces[f.key] = sp
	return nil
}

// fencedOver reports whether a fence uses a grant over some rectangles. With bare it
// asks for bare numbers only: two fences that prove their numbers may be of two
// namespaces, in which IDs may be equal.
func (sp *space) fencedOver(rects []rectangle, bare bool) bool {
	for f := range sp.fenced {
		if bare && !f.bare {
			continue
		}
		for _, q := range f.rects {
			if slices.ContainsFunc(rects, q.overlaps) {
				return true
			}
		}
	}
	return false
}

// bareOver returns the open generators that overlap some rectangles of a shape.
func (sp *space) bareOver(of shape, rects []rectangle) (over []*entry) {
	for f, group := range sp.open {
		if f == of {
			for _, r := range rects {
				if e := group[r.base]; e != nil {
					over = append(over, e)
				}
			}
			continue
		}
		for _, e := range group {
			if slices.ContainsFunc(rects, e.overlaps) {
				over = append(over, e)
			}
		}
	}
	return over
}
