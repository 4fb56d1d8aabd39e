package snowfence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/snowfence/snowfence/internal/world"
)

// Grant is a rectangle in the plane node × tick: the right to stamp the
// ticks From ≤ tick < Until with one node, or a block of nodes. Grants of a
// namespace never overlap, and a grant is durable before a generator gets
// it. So IDs are unique, whatever the clocks do.
type Grant struct {
	Node     int64 // the node, or the first of a block
	From     int64 // first tick
	Until    int64 // first tick that is no longer granted
	FirstSeq int64 // first sequence number, where several machines share a node
	LastSeq  int64 // last one; 0 with FirstSeq 0 means the whole sequence of the layout
	Nodes    int64 // length of a block of nodes; 0 means 1
}

// norm returns gr with its defaults filled in. The generator calls it once,
// when it gets gr.
func (gr Grant) norm(l Layout) Grant {
	if gr.FirstSeq == 0 && gr.LastSeq == 0 {
		gr.FirstSeq, gr.LastSeq = l.First, l.Last
	}
	gr.Nodes = max(gr.Nodes, 1)
	return gr
}

// Fence is where a generator gets its grants: a lease, a state file, a
// static number. The generator calls Held, Grant and Release from one
// goroutine at a time.
type Fence interface {
	// Scheme returns the scheme all grants are for.
	Scheme() *Scheme

	// Grant returns a grant with Until > after, in ticks. A grant with the
	// same Node, From and sequence numbers renews the old one. Any other
	// replaces it, and the generator stops using the old one. Grant may
	// wait until ctx ends.
	Grant(ctx context.Context, after int64) (Grant, error)

	// Held is Grant without waiting: it returns false when it would have to
	// write a file or ask a store.
	Held(after int64) (Grant, bool)

	// Release gives a grant back. The generator made no ID with a tick of
	// used or above, and never will under this grant. Release returns when
	// ctx ends, at the latest. After an error it may be called again for
	// the same grant.
	Release(ctx context.Context, g Grant, used int64) error
}

// Binder is a [Fence] that knows its one generator, and seals it at once
// when its grant is lost. All fences of this module are Binders.
type Binder interface {
	// Bind claims the fence. The fence may call seal at any time and from
	// any goroutine, but not while it holds a lock that Grant or Release
	// needs. After seal returns, the generator takes no more IDs from its
	// grants, and every ID it took has a tick below the result (0 without a
	// grant). The generator calls unbind after each Release, and Bind again
	// before it repeats a Release.
	Bind(seal func() (used int64)) (unbind func(), err error)
}

// ErrBound means that a fence serves another generator already.
var ErrBound = errors.New("the fence serves another generator: close that one first, or share it")

// binding is Bind for fences that lose no grant.
type binding struct {
	mu    sync.Mutex
	bound bool
}

func (b *binding) Bind(func() int64) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bound {
		return nil, ErrBound
	}
	b.bound = true
	return sync.OnceFunc(func() {
		b.mu.Lock()
		b.bound = false
		b.mu.Unlock()
	}), nil
}

// Unguarded returns a fence for a bare node number. It is not safe over
// restarts: a process that starts again too soon, or after the clock
// stepped back, repeats IDs. Nor does it know whether another process uses
// the same number. Use a lease or package statefile instead.
//
// Within one process a fence is safe, also when a new generator follows an
// old one on it. Two fences of one number do not know each other, and their
// generators repeat IDs: share one. New returns an error for a node that
// the layout does not have.
func Unguarded(s *Scheme, node int64) Fence { return &static{scheme: s, node: node} }

type static struct {
	binding
	scheme *Scheme
	node   int64
	from   int64 // first tick no generator has used; guarded by the rule that Grant and Release are not concurrent
}

func (f *static) Scheme() *Scheme { return f.scheme }

func (f *static) Grant(_ context.Context, after int64) (Grant, error) {
	if f.node < 0 || f.node >= f.scheme.Nodes() {
		return Grant{}, fmt.Errorf("snowfence: node %d: the layout has nodes 0 to %d",
			f.node, f.scheme.Nodes()-1)
	}
	if after > f.scheme.MaxTick() {
		return Grant{}, lifetimeError(f.scheme)
	}
	return Grant{Node: f.node, From: f.from, Until: f.scheme.MaxTick() + 1}, nil
}

func (f *static) Held(after int64) (Grant, bool) {
	gr, err := f.Grant(context.Background(), after)
	return gr, err == nil
}

func (f *static) Release(_ context.Context, _ Grant, used int64) error {
	f.from = max(f.from, used)
	return nil
}

// hold is a grant in use: a track for each rollback value, and the facts
// that the fence needs at the end.
type hold struct {
	grant  Grant // as first given; tracks know the current until
	scheme *Scheme
	start  int64  // first tick it may use: what lies before it in the grant may be used up by an earlier hold
	seqs   uint64 // sequence numbers of one node in one tick
	tracks []*track

	gone atomic.Bool // sealed; for readers who need not know since when

	mu   sync.Mutex
	done bool
	used int64 // first tick of which nothing was taken; valid when done
}

// newHold returns the hold of a grant in normal form, for ticks from start
// on. m is the machine before the fence was asked.
func newHold(s *Scheme, m world.Machine, gr Grant, start, now, lead int64) (*hold, error) {
	l := s.layout
	switch {
	case gr.Node < 0 || gr.Node > s.Nodes()-gr.Nodes:
		return nil, fmt.Errorf("snowfence: the fence granted %d nodes from %d; the layout %s has nodes 0 to %d",
			gr.Nodes, gr.Node, l, s.Nodes()-1)
	case gr.FirstSeq < l.First || gr.LastSeq > l.Last || gr.FirstSeq > gr.LastSeq:
		return nil, fmt.Errorf("snowfence: the fence granted sequence numbers %d to %d; usable are %d to %d",
			gr.FirstSeq, gr.LastSeq, l.First, l.Last)
	case gr.From < 0 || gr.Until <= gr.From || gr.Until-1 > s.MaxTick():
		return nil, fmt.Errorf("snowfence: the fence granted ticks %d to %d; the layout has ticks 0 to %d",
			gr.From, gr.Until-1, s.MaxTick())
	}
	if low := s.lowParts(); gr.Node>>low != (gr.Node+gr.Nodes-1)>>low {
		return nil, fmt.Errorf("snowfence: the fence granted %d nodes from %d: their bits differ "+
			"on both sides of the sequence, so IDs would not increase: grant nodes from %d to %d only",
			gr.Nodes, gr.Node, gr.Node>>low<<low, (gr.Node>>low+1)<<low-1)
	}
	h := &hold{grant: gr, scheme: s, start: max(start, gr.From), seqs: uint64(gr.LastSeq-gr.FirstSeq) + 1}
	turn := h.seqs * uint64(gr.Nodes)
	span := turn << s.scatterBits // at most 2^63, because the time has a bit of the 64
	if span > maxPosition>>8 || uint64(lead)+1 > maxPosition/span {
		return nil, fmt.Errorf("snowfence: %d IDs of a tick × %d nodes with a lead of %d ticks are too many: "+
			"take a shorter lead, fewer nodes, or a layout with fewer sequence bits",
			h.seqs<<s.scatterBits, gr.Nodes, lead)
	}
	// Positions start late enough to include the present, whatever the
	// span.
	from := min(max(gr.From, now-int64(maxPosition/2/span)), gr.Until-1)
	for r := range int64(1) << s.rollBits {
		t := &track{
			hold: h, machine: m, from: from, span: span, turn: turn, timeShift: s.timeShift, seqShift: s.seqShift,
		}
		t.base = uint64(s.compose(Parts{Tick: from, Node: gr.Node, Sequence: gr.FirstSeq, Rollback: r}))
		t.setForm(s, gr)
		t.coarse.Store(parked)
		t.word.Store(uint64(max(start, from)-from) * span) // not yet published: no other goroutine sees it
		h.tracks = append(h.tracks, t)
	}
	h.raiseEnd(gr.Until, now)
	return h, nil
}

// renewedBy reports whether gr is the same grant but for its end.
func (h *hold) renewedBy(gr Grant) bool {
	gr.Until = h.grant.Until
	return gr == h.grant
}

func (h *hold) overlaps(gr Grant) bool {
	return gr.Node < h.grant.Node+h.grant.Nodes && h.grant.Node < gr.Node+gr.Nodes
}

// raiseEnd moves the end of all tracks up to until, and the tick to ask
// again to two thirds of the time gained. It reports whether it gained any;
// a lower until changes nothing. The generator's mutex must be held.
func (h *hold) raiseEnd(until, now int64) bool {
	raised := false
	for _, t := range h.tracks {
		n, old := min(uint64(max(until-t.from, 0)), maxPosition/t.span), t.until.Load()
		if n <= old {
			continue
		}
		raised = true
		t.until.Store(n)
		t.end.Store(n * t.span)
		t.soft.Store(n - (n-min(n, max(old, uint64(max(now-t.from, 0)))))/3)
	}
	return raised
}

// until returns the first tick that is not granted.
func (h *hold) until() int64 {
	t := h.tracks[0]
	return t.from + int64(t.until.Load())
}

// seal ends the hold and returns the first tick of which nothing was taken.
func (h *hold) seal() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done {
		return h.used
	}
	h.done, h.used = true, h.start
	h.gone.Store(true)
	for _, t := range h.tracks {
		end := t.word.Swap(sealed)
		t.closeFastPath()
		if end > 0 {
			// Positions that were taken too late moved the word past its
			// end, unused.
			h.used = max(h.used, min(t.from+int64((end-1)/t.span)+1, h.until()))
		}
	}
	return h.used
}

func (h *hold) sealed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.done
}
