package snowfence

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Grant is a rectangle in the plane node × tick: the right to stamp the ticks From ≤ tick
// < Until with the numbers of one node, or of a block of nodes. Grants of a namespace
// never overlap, and a grant is durable before it is handed over. From this alone IDs are
// unique, whatever the clocks do.
type Grant struct {
	Node     int64 // the node, or the first of a block
	From     int64 // first tick
	Until    int64 // first tick that is no longer granted
	FirstSeq int64 // first sequence number, where several machines share a node
	LastSeq  int64 // last one; 0 with FirstSeq 0 means the whole sequence of the layout
	Nodes    int64 // length of a block of nodes; 0 means 1
}

// norm returns gr with its defaults filled in. A generator does that once, when it gets gr.
func (gr Grant) norm(l Layout) Grant {
	if gr.FirstSeq == 0 && gr.LastSeq == 0 {
		gr.FirstSeq, gr.LastSeq = l.First, l.Last
	}
	gr.Nodes = max(gr.Nodes, 1)
	return gr
}

// Fence is where a generator gets its grants: a lease, a state file, a static number. The
// package lease has the one for many machines.
//
// A generator calls Held, Grant and Release from one goroutine at a time.
type Fence interface {
	// Scheme returns the scheme all grants are for.
	Scheme() *Scheme

	// Grant returns a grant whose Until is greater than after. A grant with Node, From
	// and sequence numbers as before and a later Until is the old one, renewed. Any other
	// grant replaces the old one, which the generator then no longer uses. It may wait
	// until it has a grant or ctx ends.
	Grant(ctx context.Context, after int64) (Grant, error)

	// Held is Grant without waiting: it returns what the fence has at hand, and false
	// where it would have to write a file or to ask a store.
	Held(after int64) (Grant, bool)

	// Release gives a grant back. No ID with a tick of used or later was or will be made
	// from it. It returns when ctx ends. After an error it may be called again for the
	// same grant.
	Release(ctx context.Context, g Grant, used int64) error
}

// Binder is a [Fence] that wants to know its generator. All fences of this module do: one
// fence serves one generator at a time, and a fence that learns of the loss of its grant
// seals the generator at once.
type Binder interface {
	// Bind claims the fence. The fence may call seal at any time and from any goroutine,
	// but not with a lock held that Grant or Release needs: when it returns, nothing more
	// is taken from the grants the generator had, and every ID that was or will be made
	// from what was taken has a tick below the result (0 when there was no grant). The
	// generator calls unbind after each Release, and Bind before it repeats one.
	Bind(seal func() (used int64)) (unbind func(), err error)
}

// ErrBound means that a fence serves another generator already.
var ErrBound = errors.New("the fence serves another generator: close that one first, or share it")

// binding is the part of a Binder that is the same for all fences without a loss to report.
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

// Static returns a fence for a bare node number, which is not safe over restarts: use
// [StateFile](path, s, node) instead, or a lease. A process that starts again within the
// time its predecessor used, or after the clock stepped back, repeats IDs; and that no
// other process has the number is for somebody else to know.
//
// Inside one process it keeps the promise, over generators made one after the other too.
// A node outside the layout shows as an error of New.
func Static(s *Scheme, node int64) Fence { return &static{scheme: s, node: node} }

type static struct {
	binding
	scheme *Scheme
	node   int64
	from   int64 // first tick no generator has used; guarded by the rule that Grant and Release are not concurrent
}

func (f *static) Scheme() *Scheme { return f.scheme }

func (f *static) Grant(_ context.Context, after int64) (Grant, error) {
	if f.node < 0 || f.node >= f.scheme.Nodes() {
		return Grant{}, fmt.Errorf("snowfence: static node %d: the layout has nodes 0 to %d",
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
