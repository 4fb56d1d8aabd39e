package snowfence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/internal/clock"
	"github.com/snowfence/snowfence/internal/world"
)

// TimeSource reads the wall clock and a monotonic time, which starts
// anywhere and never steps. nil means the system's clocks, and only those
// have a fast path. Others are for tests and simulations. It must be safe
// for concurrent use.
type TimeSource func() (wall time.Time, mono time.Duration)

// Config says how a [Generator] works. Only Fence is required.
type Config struct {
	Fence Fence // where the grants come from; it serves one generator at a time

	// Lead is how many ticks IDs may run ahead of the clock when a tick is
	// used up, and how far the clock may step back unnoticed. 0 means none,
	// as in classic Snowflake; snow-drift uses 2000.
	Lead int64

	// MaxWait is how long Next and Fill wait before they return a
	// [WaitError]. 0 means one second; negative means not at all. ctx may
	// end the wait earlier.
	MaxWait time.Duration

	// Coarse reads the clock about once a millisecond instead of on every
	// call, which is several times faster. Timestamps are then late by up
	// to a millisecond, and by a few on a busy machine (see
	// BenchmarkCoarseLateness). The first ID after a pause is exact.
	// Uniqueness and order do not depend on it.
	Coarse bool

	// Spread makes id % n even for generators that make few IDs, for
	// example to choose a shard. Without it, most IDs have the lowest
	// sequence number, and some remainders come far more often. With it,
	// the first ID of each tick has a random one of the Spread lowest
	// sequence numbers. A multiple of n is best. On average it costs half
	// of these numbers in each tick. 0 means none. New refuses it where it
	// has no effect: in encrypted layouts, and where the sequence is not in
	// the lowest bits.
	Spread int64

	// Time replaces the system's clocks in tests; nil means the system's
	// clocks.
	Time TimeSource
}

// Generator makes IDs inside the grants of a fence. It is safe for
// concurrent use.
//
// Its IDs increase in the order in which calls take them, with the same
// bits above the time. So do IDs of one node over restarts and from holder
// to holder. Layouts with rollback bits are the exception: after the clock
// stepped back, IDs have the time of the clock.
type Generator struct {
	cur    atomic.Pointer[track]
	mode   mode
	coarse bool
	clock  clock.Clock

	batch    atomic.Pointer[batch] // of an encrypted scheme: IDs made ahead; at first none, of no grant
	batchMu  sync.Mutex            // held by who makes the next batch, never while waiting
	batchLen uint64                // of the last batch; guarded by batchMu

	scheme  *Scheme
	fence   Fence
	world   world.World
	machine world.Machine // as it was at the beginning
	lead    int64
	spread  spreader
	maxWait time.Duration
	closed  *track // the terminal value of cur

	ticking atomic.Bool     // the coarse ticker runs
	life    context.Context // ends with Close
	end     context.CancelFunc

	mu      sync.Mutex // guards what follows, and raising and replacing the hold
	held    *hold      // the hold cur points into, or that Close took away
	flight  *flight    // the question the fence is being asked, nil when none
	revoked int64      // how often the fence took a grant back

	ending ending
}

// mode is which fast path a generator has.
type mode uint8

const (
	exact mode = iota
	coarse
	batched // encrypted IDs, made ahead
)

// New starts a generator: it claims the fence and waits for the first
// grant, at most MaxWait, or a second if that is negative. It fails with
// [ErrBound] if the fence serves another generator.
func New(c Config) (*Generator, error) {
	switch {
	case c.Fence == nil:
		return nil, errors.New("snowfence: Config.Fence is nil: use a lease, statefile.File or Unguarded")
	case c.Lead < 0:
		return nil, fmt.Errorf("snowfence: Config.Lead is %d: give 0 or more ticks", c.Lead)
	case c.Lead > 1<<40:
		return nil, fmt.Errorf("snowfence: Config.Lead is %d ticks, more than %d", c.Lead, int64(1)<<40)
	}
	g := &Generator{
		coarse:  c.Coarse,
		fence:   c.Fence,
		scheme:  c.Fence.Scheme(),
		lead:    c.Lead,
		maxWait: cmp.Or(c.MaxWait, time.Second),
		closed:  &track{},
		world:   world.Real(),
	}
	if f, ok := c.Fence.(interface{ World() world.World }); ok { // a simulation
		g.world = f.World()
	}
	g.machine = g.world.Machine()
	g.life, g.end = context.WithCancel(context.Background())
	if g.scheme == nil {
		return nil, errors.New("snowfence: the fence has no scheme")
	}
	if err := g.scheme.layout.CheckSpread(c.Spread); err != nil {
		return nil, fmt.Errorf("snowfence: %w", err)
	}
	if c.Spread > 1 {
		g.spread = spreader{uint64(c.Spread), g.world.Uint64()}
	}
	g.closed.word.Store(sealed)
	g.closed.closeFastPath()
	switch {
	case g.scheme.Encrypted():
		g.mode = batched
		g.batch.Store(&batch{t: &track{}})
		g.batchLen = 1
	case g.coarse:
		g.mode = coarse
	}
	g.clock.Init(g.scheme.layout.Epoch, g.scheme.layout.Tick, c.Time, g.scheme.rollBits > 0)
	g.ending.turn = make(chan struct{}, 1)
	g.ending.turn <- struct{}{}
	if err := g.bindFence(); err != nil {
		return nil, fmt.Errorf("snowfence: %w", err)
	}
	if err := g.takeFirst(c.MaxWait); err != nil {
		g.unbindFence()
		return nil, err
	}
	return g, nil
}

// takeFirst takes the first grant.
func (g *Generator) takeFirst(wait time.Duration) (err error) {
	if wait <= 0 {
		wait = time.Second // a file has to be written before the first ID, whatever later calls wait for
	}
	ctx, cancel := g.world.WithTimeout(context.Background(), wait)
	defer cancel()
	now := g.clock.Tick()
	if l := g.scheme.layout; now+g.lead < 0 {
		return fmt.Errorf("snowfence: the clock says %s, which is before the epoch of the layout, %s: "+
			"set the clock, or use a layout with an earlier epoch",
			l.TimeOf(now).Format(time.RFC3339), l.Epoch.Format(time.RFC3339))
	}
	now = max(now, 0)
	for again := true; again; {
		if again, err = g.beginFirst(ctx, now); err != nil {
			return err
		}
	}
	return nil
}

// beginFirst puts the first grant to use. again means that the fence
// revoked a grant since it was asked.
func (g *Generator) beginFirst(ctx context.Context, now int64) (again bool, err error) {
	g.mu.Lock()
	revoked := g.revoked
	g.mu.Unlock()
	machine := g.machine.Now()
	gr, err := g.fence.Grant(ctx, now)
	if err != nil {
		return false, fmt.Errorf("snowfence: no first grant: %w", err)
	}
	gr = gr.norm(g.scheme.layout)
	h, err := newHold(g.scheme, machine, gr, gr.From, now, g.lead)
	if err == nil {
		err = checkGrant(gr, int64(g.spread.size))
	}
	if err != nil {
		return false, errors.Join(err, g.fence.Release(ctx, gr, gr.From))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.revoked == revoked:
		g.held = h
		g.cur.Store(h.tracks[0])
		return false, nil
	case ctx.Err() != nil:
		cause := errors.New("the fence took its first grant back")
		return false, &WaitError{Reason: ErrFenced, Node: gr.Node, Cause: cause}
	}
	return true, nil
}

// Scheme returns the scheme of the generator's fence.
func (g *Generator) Scheme() *Scheme { return g.scheme }

// Ahead returns how far the time of the next ID is ahead of the clock: in a
// burst, or after the clock stepped back. It uses up no ID, and is 0 where
// none can be made.
func (g *Generator) Ahead() time.Duration {
	t := g.cur.Load()
	w := t.word.Load()
	if w >= sealed {
		return 0
	}
	tick := t.from + int64(min(w, t.end.Load())/t.span) // callers that failed moved the word past the end
	return time.Duration(max(tick-g.clock.Tick(), 0)) * g.scheme.layout.Tick
}

// Grant returns the grant in use, with its present Until, and false if
// there is none.
func (g *Generator) Grant() (Grant, bool) {
	t := g.cur.Load()
	if t.hold == nil || t.hold.sealed() {
		return Grant{}, false
	}
	gr := t.hold.grant
	gr.Until = t.hold.until()
	return gr, true
}
