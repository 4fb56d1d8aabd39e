package snowfence

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Grant is a rectangle in the plane node × tick: the right to stamp the ticks From ≤ tick < Until
// with one node, or a block of nodes. Grants of a namespace never overlap, and a grant is durable
// before a generator gets it. So IDs are unique, whatever the clocks do.
type Grant struct {
	Node     int64 // the node, or the first of a block
	From     int64 // first tick
	Until    int64 // first tick that is no longer granted
	FirstSeq int64 // first sequence number, where several machines share a node
	LastSeq  int64 // last one; 0 with FirstSeq 0 means the whole sequence of the layout
	Nodes    int64 // length of a block of nodes; 0 means 1
}

// norm returns gr with its defaults filled in. The generator calls it once, when
// it gets gr.
func (gr Grant) norm(l Layout) Grant {
	if gr.FirstSeq == 0 && gr.LastSeq == 0 {
		gr.FirstSeq, gr.LastSeq = l.First, l.Last
	}
	gr.Nodes = max(gr.Nodes, 1)
	return gr
}

// Fence is where a generator gets its grants: a lease, a state file, a static
// number. The generator calls Held, Grant and Release from one goroutine at a
// time.
type Fence interface {
	// Scheme returns the scheme all grants are for.
	Scheme() *Scheme

	// Grant returns a grant with Until > after, in ticks. A grant with the same Node, From and
	// sequence numbers renews the old one. Any other replaces it, and the generator stops using the
	// old one. Grant may wait until ctx ends.
	Grant(ctx context.Context, after int64) (Grant, error)

	// Held is Grant without waiting: it returns false when it would have to write
	// a file or ask a store.
	Held(after int64) (Grant, bool)

	// Release gives a grant back. The generator made no ID with a tick of used or above, and never
	// will under this grant. Release returns when ctx ends, at the latest. After an error it may be
	// called again for the same grant.
	Release(ctx context.Context, g Grant, used int64) error
}

// Binder is a [Fence] that knows its one generator, and seals it at once when its
// grant is lost. All fences of this module are Binders.
type Binder interface {
	// Bind claims the fence. The fence may call seal at any time and from any goroutine, but not
	// while it holds a lock that Grant or Release needs. After seal returns, the generator takes no
	// more IDs from its grants, and every ID it took has a tick below the result (0 without a
	// grant). The generator calls unbind after each Release, and Bind again before it repeats a
	// Release.
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

// Unguarded returns a fence for a bare node number. It is not safe over restarts: a process that
// starts again too soon, or after the clock stepped back, repeats IDs. Nor does it know whether
// another process uses the same number. Use a lease or package statefile instead.
//
// Within one process a fence is safe, also when a new generator follows an old one on it. Two
// fences of one number do not know each other, and their generators repeat IDs: share one.
// New returns an error for a node that the layout does not have.
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
