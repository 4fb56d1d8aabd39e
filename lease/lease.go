package lease

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
)

// Lease is a fence kept in a store: a node, renewed in the background, and another grant when it is lost. It is a lifetime: it begins with Open and
// ends with Close, with Orphan, or when it cannot heal (Done). All methods are safe for concurrent use; the fence serves one generator at a time.
type Lease struct {
	st     Store
	name   string
	scheme *snowfence.Scheme
	opts   Options
	ticks  ticker
	boot   string // identity of this holder, see holder.go
	secret string // of boot

	world   world.World
	ops     chan struct{} // who has taken the one value out may talk to the store and touch the fields of ops below
	hold    *hold         // nil when nothing is held
	own     []Key         // held last, and perhaps still
	lostTo  *hold         // lost, and not yet seen to whom
	suspect *int64        // the store went back behind this generation: raise the floor before the next grant; nil when it did not
	known   int64         // highest tick any grant of this process reached
	watched bool          // a server keeps the store from holders; see [Holders]
	seen    []Record      // over a server: what it showed last of our own records, signed
	refused map[int64]error
	offers  *offers   // nodes for leases that are opened together; nil for one opened alone
	slot    time.Time // one of the times at which it is renewed; zero for one opened alone. See next

	life   context.Context // ends with the lease
	end    context.CancelCauseFunc
	done   chan struct{} // closed when the keeper has stopped
	unpin  func()        // lets the store close what it keeps open for this lease
	kicked chan struct{} // wakes the keeper
	once   sync.Once     // of stop

	mu           sync.Mutex
	cur          *snowfence.Grant // what may be used; nil when nothing
	of           *hold            // of cur
	owed         *owed            // the last grant that was sealed and is to be given back; nil when there was none
	keptUntil    int64            // no write that was sent makes the store keep a node for us for longer; 0 when it keeps none
	keptNode     int64            // the node of that write
	handed       bool             // cur was given to somebody
	spent        bool             // what is held was given to somebody who is gone: it must not be given out again
	want         bool             // somebody needs a grant: keep one
	need         int64            // highest tick somebody waits to get past, −1 when nobody does
	used         time.Time        // last call of Grant
	bound        bool
	seal         func() int64
	oneGenerator bool          // the lease is closed with its generator
	trouble      error         // what went wrong last; nil after a success
	changed      chan struct{} // closed and replaced when cur or trouble change
	stopOp       context.CancelFunc
	failures     int
	renewAt      time.Time // when the next renewal is due
	renewed      time.Time // when the store acknowledged the last one
	took         time.Duration
	closing      chan struct{} // closed when the first Close returns; nil before it
	result       error         // of the first Close
	earliest     time.Time     // no attempt before, whatever the need
}

// hold is what the store is known to keep of ours.
type hold struct {
	records    []Record // of the block, as last acknowledged or adopted
	unanswered map[string]bool
	generation int64 // of the namespace
	floor      int64 // of the namespace when the grant was computed; confirmed once it was found to be the same after the swap
	from       int64 // of the grant
	pending    bool  // it is not known whether the acquisition was written
}

// Open acquires a lease in a namespace of a store and keeps it. It needs the namespace to exist unless Options.Create is set, and waits
// for a free node only with Options.Wait. Errors worth telling apart are [TakenError], [HeldError], [MismatchError],
// [ErrNoNamespace], [ErrSkew] and snowfence.ErrLifetime. ctx bounds Open alone.
func Open(ctx context.Context, st Store, namespace string, s *snowfence.Scheme, o *Options) (*Lease, error) {
	if err := check(st, namespace, s); err != nil {
		return nil, err
	}
	opts, err := o.normal(s)
	if err != nil {
		return nil, err
	}
	return open(ctx, st, namespace, s, opts, nil)
}

func open(ctx context.Context, st Store, namespace string, s *snowfence.Scheme, opts Options, together *offers) (_ *Lease, err error) {
	w := world.From(ctx)
	l := newLease(w, st, namespace, s, opts)
	l.offers = together
	if p, ok := st.(Pinner); ok {
		if l.unpin, err = p.Pin(ctx); err != nil {
			return nil, fmt.Errorf("lease: namespace %q: %w", namespace, err)
		}
	}
	if together == nil || !together.known() {
		err = l.register(ctx)
	}
	if err == nil {
		err = l.first(ctx)
	}
	if err != nil {
		l.unpin()
		return nil, err
	}
	l.offers = nil
	l.renewed = w.Now()
	l.renewAt = l.next(l.renewed)
	w.Go(l.keep)
	return l, nil
}

// newLease returns a lease that holds nothing yet.
func newLease(w world.World, st Store, namespace string, s *snowfence.Scheme, opts Options) *Lease {
	l := &Lease{
		st: st, name: namespace, scheme: s, opts: opts, world: w,
		ticks:   ticker{s.Layout(), s.MaxTick(), opts.TTL},
		ops:     make(chan struct{}, 1),
		refused: map[int64]error{},
		done:    make(chan struct{}), kicked: make(chan struct{}, 1), changed: make(chan struct{}),
		want: true, need: -1, used: w.Now(),
		unpin: func() {},
	}
	l.identify()
	l.unlock()
	l.life, l.end = context.WithCancelCause(world.With(context.Background(), w))
	return l
}

// Scheme implements [snowfence.Fence].
func (l *Lease) Scheme() *snowfence.Scheme { return l.scheme }

// Bind implements [snowfence.Binder].
func (l *Lease) Bind(seal func() int64) (func(), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bound {
		return nil, snowfence.ErrBound
	}
	l.bound, l.seal = true, seal
	l.retire()
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.bound, l.seal, l.want = false, nil, false
		l.retire()
	}), nil
}

// retire drops a grant of which somebody may have used a part nobody told us of: another generator must not get it. mu is held.
func (l *Lease) retire() {
	if l.handed {
		l.cur, l.of, l.handed, l.spent = nil, nil, false, true
	}
}

// Grant implements [snowfence.Fence]: it answers from memory when the store has acknowledged a grant past after, and otherwise waits for a
// renewal or for another grant. What keeps it from getting one is in the error, which matches snowfence.ErrFenced, or [ErrEnded].
func (l *Lease) Grant(ctx context.Context, after int64) (snowfence.Grant, error) {
	if after > l.scheme.MaxTick() {
		return snowfence.Grant{}, fmt.Errorf("lease: namespace %q: %w: it ended at %s", l.name, snowfence.ErrLifetime, l.ticks.layout.EndOfLife().Format(time.RFC3339))
	}
	for {
		l.mu.Lock()
		l.used, l.want = l.world.Now(), true
		if l.cur != nil && l.cur.Until > after {
			l.handed = true
			g := *l.cur
			l.mu.Unlock()
			return g, nil
		}
		l.need = max(l.need, after)
		changed, trouble := l.changed, l.trouble
		l.mu.Unlock()
		if l.life.Err() != nil {
			return snowfence.Grant{}, context.Cause(l.life)
		}
		l.kick()
		if ctx.Err() != nil {
			return snowfence.Grant{}, l.fenced(trouble, ctx.Err())
		}
		l.world.Wait(-1, changed, l.life.Done(), ctx.Done())
	}
}

func (l *Lease) fenced(trouble, ctxErr error) error {
	if trouble == nil {
		return fmt.Errorf("lease: namespace %q: %w: the store has not acknowledged a later grant yet: %w", l.name, snowfence.ErrFenced, ctxErr)
	}
	return fmt.Errorf("lease: namespace %q: %w: %w (%w)", l.name, snowfence.ErrFenced, trouble, ctxErr)
}

// Orphan stops renewing and leaves the node to run out: what was granted may still be used until its end, and the node is taken until then.
func (l *Lease) Orphan() {
	l.end(fmt.Errorf("lease: namespace %q: %w: it was orphaned", l.name, ErrEnded))
	l.unpin() // so that the store can be closed at once
}

// Done returns a channel that is closed when the lease has ended: it was closed or orphaned, its namespace was deleted or got another layout,
// or its store was replaced. A lease that is lost but heals is not done.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Err returns why the lease ended, and nil while it has not. The error matches [ErrEnded].
func (l *Lease) Err() error { return context.Cause(l.life) }

// Status is a look at a lease.
type Status struct {
	Grant   snowfence.Grant // as acknowledged; all zero when there is none
	Held    bool            // there is a grant
	Trouble error           // what went wrong at the last attempt to renew or acquire; nil when it succeeded
	Label   string
	Renewed time.Time     // when the store last acknowledged a grant
	Took    time.Duration // from when that renewal was due until then; 0 when there was none yet
}

// Status returns what the lease holds now, without asking the store.
func (l *Lease) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{Trouble: l.trouble, Label: l.opts.Label, Renewed: l.renewed, Took: l.took}
	if l.cur != nil {
		s.Grant, s.Held = *l.cur, true
	}
	return s
}
