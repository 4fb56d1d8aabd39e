package lease

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/clock"
	"github.com/snowfence/snowfence/lease/internal/claim"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// Lease is a fence kept in a store. It renews a node in the background, and
// gets another grant after a loss. It begins with Open. It ends with Close,
// with Orphan, or when it cannot heal (Done). All methods are safe for
// concurrent use. The fence serves one generator at a time.
//
// Its claim gets grants from a store or a server. The lease decides when to
// ask for one, which caller uses it, and which generator to seal.
type Lease struct {
	setup   *claim.Setup
	reports *reporter
	idle    time.Duration // Options.Idle

	ops   chan struct{} // semaphore of one: hold it to use claim
	claim claim.Claim

	life   context.Context // ends with the lease
	end    context.CancelCauseFunc
	done   chan struct{} // closed when the keeper has stopped
	unpin  func()        // lets the store close what it keeps open for this lease
	kicked chan struct{} // wakes the keeper
	once   sync.Once     // of stop

	mu           sync.Mutex // of what follows
	use          usage
	demand       demand
	pace         pace
	told         int64         // Clock.Corrections when the generator was told last
	seal         func() int64  // of the bound generator; nil when there is none
	oneGenerator bool          // the lease is closed with its generator
	trouble      error         // what went wrong last; nil after a success
	changed      chan struct{} // closed and replaced when use or trouble change
	stopOp       context.CancelFunc
	closing      chan struct{} // closed when the first Close returns; nil before it
	result       error         // of the first Close
}

// usage says how the claim's grant is used.
type usage struct {
	cur    *snowfence.Grant // what may be used; nil when nothing
	owed   *claim.Owed      // the last grant that was sealed and waits to be given back; nil when there was none
	handed bool             // cur was given to a caller
	spent  bool             // what is held was given to a caller that is gone: it is never given out again
}

// demand is the callers' wish for ticks.
type demand struct {
	want bool      // a caller needs a grant: keep one
	need int64     // highest tick that a caller waits to get past, −1 without one
	used time.Time // last wish for a grant
}

// pace is when the lease renews.
type pace struct {
	renewAt  time.Time     // when the next renewal is due
	most     time.Duration // between renewals, whatever the ttl
	renewed  time.Time     // when the store acknowledged the last one
	took     time.Duration // from when that one was due until then
	earliest time.Time     // no attempt before, whatever the need
	failures int           // in a row
	tellAt   time.Time     // no warning of them before
	quiet    time.Duration // between the last warning and that
}

// Scheme implements [snowfence.Fence].
func (l *Lease) Scheme() *snowfence.Scheme { return l.setup.Scheme }

// Bind implements [snowfence.Binder].
func (l *Lease) Bind(seal func() int64) (func(), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seal != nil {
		return nil, snowfence.ErrBound
	}
	l.seal, l.told = seal, l.setup.Clock.Corrections()
	l.retire()
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.seal, l.demand.want = nil, false
		l.retire()
	}), nil
}

// Lend binds the seal of subleases in place of a generator's, for package
// sublet. From then on the lease is renewed every five seconds, or more
// often. The error is snowfence.ErrBound if the lease has a generator.
func (l *Lease) Lend(seal func() int64) (*claim.Setup, error) {
	if _, err := l.Bind(seal); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.idle = math.MaxInt64
	l.pace.most = heartbeat
	l.pace.renewAt = l.next(l.setup.World.Now())
	l.mu.Unlock()
	l.kick()
	return l.setup, nil
}

// heartbeat is how often a lessor writes to the store, whatever its ttl, so
// that it notices a loss or a rollback before its holders have gone on for
// long.
const heartbeat = 5 * time.Second

// retire drops a grant that a caller may have used: no other generator gets
// it. mu is held.
func (l *Lease) retire() {
	if l.use.handed {
		l.spend()
	}
}

// spend keeps the hold from being given out again. mu is held.
func (l *Lease) spend() {
	l.use.cur, l.use.handed, l.use.spent = nil, false, true
}

// Held implements [snowfence.Fence]: it answers from memory.
func (l *Lease) Held(after int64) (snowfence.Grant, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hand(after)
}

// hand notes the demand for a grant past after, and gives it out if there
// is one. mu is held.
func (l *Lease) hand(after int64) (snowfence.Grant, bool) {
	l.demand.used, l.demand.want = l.setup.World.Now(), true
	if g := l.use.cur; g == nil || g.Until <= max(after, g.From) || l.setup.Copied() {
		return snowfence.Grant{}, false
	}
	l.use.handed = true
	return *l.use.cur, true
}

// Grant implements [snowfence.Fence]. It answers from memory if the store
// has acknowledged a grant with Until > after. Otherwise it waits for a
// renewal or another grant. Its error says what prevents one, and matches
// snowfence.ErrFenced or [ErrEnded].
func (l *Lease) Grant(ctx context.Context, after int64) (snowfence.Grant, error) {
	if after > l.setup.Scheme.MaxTick() {
		return snowfence.Grant{}, fmt.Errorf("lease: namespace %q: %w: it ended at %s",
			l.setup.Name, snowfence.ErrLifetime, l.setup.Ticks.Layout.EndOfLife().Format(time.RFC3339))
	}
	for {
		l.mu.Lock()
		if g, ok := l.hand(after); ok {
			l.mu.Unlock()
			return g, nil
		}
		l.setup.Clock.Sync() // what the generator's clock saw, so that both are corrected
		corrections := l.setup.Clock.Corrections()
		if l.told != corrections { // the clock that after is from, too
			l.told, l.demand.need = corrections, -1
			l.mu.Unlock()
			return snowfence.Grant{}, l.fenced(nil, clock.ErrCorrected)
		}
		l.demand.need = max(l.demand.need, after)
		changed, trouble := l.changed, l.trouble
		l.mu.Unlock()
		if l.life.Err() != nil {
			return snowfence.Grant{}, context.Cause(l.life)
		}
		l.kick()
		if ctx.Err() != nil {
			return snowfence.Grant{}, l.fenced(trouble, ctx.Err())
		}
		l.setup.World.Wait(-1, changed, l.life.Done(), ctx.Done())
	}
}

// fenced returns the error of a missing grant. It matches the end of the
// wait, and does not show it.
func (l *Lease) fenced(trouble, ended error) error {
	l.mu.Lock()
	g := l.use.cur
	l.mu.Unlock()
	switch {
	case trouble != nil:
		trouble = store.Discreet(trouble)
	case g != nil && g.Until <= g.From:
		trouble = fmt.Errorf("node %d has its first tick at %s, because a clock was ahead, the layout was changed, or "+
			"the store was rolled back or moved: wait until then",
			g.Node, l.setup.Ticks.Layout.TimeOf(g.From).UTC().Format(time.RFC3339))
	default:
		trouble = errors.New("the store has not acknowledged a later grant yet")
	}
	return fault.Mark(fmt.Errorf("lease: namespace %q: %w: %w", l.setup.Name, snowfence.ErrFenced, trouble), ended)
}

// Orphan ends the lease without giving the node back. The generator may use
// the grant until it ends, and the node stays taken until then. If you
// close the generator or the lease nevertheless, that gives the node back,
// and needs the store.
func (l *Lease) Orphan() {
	l.end(fmt.Errorf("lease: namespace %q: %w: it was orphaned", l.setup.Name, ErrEnded))
	l.unpin() // so that the store can be closed at once
}

// Done returns a channel that is closed when the lease has ended: it was
// closed or orphaned, its namespace was deleted, moved to another store or
// got another layout, or its store was replaced. A lease that is lost but
// heals is not done.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Err returns why the lease ended, and nil while it has not. The error
// matches [ErrEnded].
func (l *Lease) Err() error { return context.Cause(l.life) }

// Status is the state of a lease at one moment.
type Status struct {
	Grant   snowfence.Grant // as acknowledged; all zero when there is none
	Held    bool            // there is a grant, and it has a tick that may be used
	Trouble error           // what went wrong at the last attempt to renew or acquire; nil when it succeeded
	Renewed time.Time       // when the store last acknowledged a grant
	Took    time.Duration   // from when that renewal was due until Renewed; 0 before the first one
	TTL     time.Duration   // as the server gave it last, or as it was asked for from a store
}

// Status returns the lease's present hold, without asking the store.
func (l *Lease) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{Trouble: l.trouble, Renewed: l.pace.renewed, Took: l.pace.took, TTL: l.setup.LastTTL()}
	if l.use.cur != nil {
		s.Grant, s.Held = *l.use.cur, l.use.cur.Until > l.use.cur.From
	}
	return s
}

// drop forgets the grant in memory. mu is held.
func (l *Lease) drop(cause error) {
	l.use.cur, l.use.handed = nil, false
	if cause != nil {
		l.trouble = cause
	}
	l.wakeWaiters()
}

// wakeWaiters wakes all waiters for a change. mu is held.
func (l *Lease) wakeWaiters() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *Lease) unlock() {
	l.reports.announce()
	l.ops <- struct{}{}
}

// kick wakes the keeper.
func (l *Lease) kick() {
	select {
	case l.kicked <- struct{}{}:
	default:
	}
}

// publish keeps the new grant for the generator, which asks for it before
// the old one ends (askAhead in refresh.go).
func (l *Lease) publish(g snowfence.Grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := &l.use
	if u.spent {
		return
	}
	if u.cur == nil || u.cur.Node != g.Node || u.cur.From != g.From {
		u.handed = false
	}
	u.cur = &g
	if g.Until > l.demand.need {
		l.demand.need = -1
	}
	l.wakeWaiters()
}
