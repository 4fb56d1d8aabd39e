package workerid

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
)

// Fence is a [snowfence.Fence] over a number. When the number is lost it seals
// its generator at once, and takes another one.
type Fence struct {
	r      *Registrar
	scheme *snowfence.Scheme
	layout snowfence.Layout

	mu      sync.Mutex
	w       *Worker            // nil while there is none
	handed  bool               // a generator has the grant of w
	owed    *Worker            // sealed, and not yet given back
	unused  int64              // of owed: the first millisecond without an ID
	seal    func() int64       // of the bound generator; nil when there is none
	stop    context.CancelFunc // of the goroutine that takes another number; nil when there is none
	trouble error              // why there is no number
	closed  bool
	changed chan struct{} // closed and replaced when any of these change
}

func newFence(r *Registrar, s *snowfence.Scheme) *Fence {
	return &Fence{r: r, scheme: s, layout: s.Layout(), changed: make(chan struct{})}
}

// fits refuses a scheme that cannot use the numbers, or only for a part of the
// TTL.
func (r *Registrar) fits(s *snowfence.Scheme) error {
	switch {
	case s == nil:
		return errors.New("workerid: the scheme is nil")
	case r.o.Max >= s.Nodes():
		return fmt.Errorf("workerid: the numbers go up to %d, and the layout has nodes 0 to %d: lower Max",
			r.o.Max, s.Nodes()-1)
	case s.Layout().Tick > r.o.TTL/3:
		return fmt.Errorf("workerid: the layout has ticks of %v, and the TTL is %v: set a TTL of at least three ticks",
			s.Layout().Tick, r.o.TTL)
	}
	return nil
}

// adopt makes the number the fence's. mu is held.
func (f *Fence) adopt(w *Worker) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if w.fence != nil {
		return fmt.Errorf("workerid: number %d has a fence already: use that one", w.number)
	}
	w.fence, f.w, f.handed, f.trouble = f, w, false, nil
	f.tell()
	return nil
}

// tell wakes all who wait. mu is held.
func (f *Fence) tell() {
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *Fence) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell()
}

// Scheme implements [snowfence.Fence].
func (f *Fence) Scheme() *snowfence.Scheme { return f.scheme }

// Number returns the number that the fence has now, and false while it has
// none.
func (f *Fence) Number() (int64, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.w == nil {
		return 0, false
	}
	return f.w.number, true
}

// Bind implements [snowfence.Binder].
func (f *Fence) Bind(seal func() int64) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seal != nil {
		return nil, snowfence.ErrBound
	}
	f.seal = seal
	return sync.OnceFunc(f.unbind), nil
}

// unbind leaves a number to run out if its grant was not given back, so that no
// other generator gets it.
func (f *Fence) unbind() {
	f.mu.Lock()
	w := f.w
	f.seal = nil
	f.rest()
	if w == nil || !f.handed {
		f.mu.Unlock()
		return
	}
	f.w = nil
	f.mu.Unlock()
	w.finish(fmt.Errorf("workerid: number %d: %w: its generator ended", w.number, ErrClosed))
}

// rest ends the search for another number. mu is held.
func (f *Fence) rest() {
	if f.stop != nil {
		f.stop()
		f.stop = nil
		f.r.searching(f, false)
	}
}

// Held implements [snowfence.Fence]. It answers from memory.
func (f *Fence) Held(after int64) (snowfence.Grant, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hand(after)
}

// hand gives out the grant if it reaches past the tick after. mu is held.
func (f *Fence) hand(after int64) (snowfence.Grant, bool) {
	if f.w == nil {
		return snowfence.Grant{}, false
	}
	g, ok := f.w.grant(f)
	if !ok || g.Until <= after {
		return snowfence.Grant{}, false
	}
	f.handed = true
	return g, true
}

// grant returns the ticks of a number. The invariant: From is not below the
// tick of a time at which Redis had no key of another holder, and Until not
// above the tick of the expiry that Redis acknowledged.
func (w *Worker) grant(f *Fence) (snowfence.Grant, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.checks < settleChecks {
		return snowfence.Grant{}, false
	}
	g := snowfence.Grant{
		Node:  w.number,
		From:  max(f.layout.TickOf(time.UnixMilli(w.from)), 0),
		Until: min(f.layout.TickOf(time.UnixMilli(w.expiry)), f.scheme.MaxTick()+1),
	}
	return g, g.From < g.Until
}

// Grant implements [snowfence.Fence]. It waits for a renewal, or for another
// number. Its error says what prevents one, and matches snowfence.ErrFenced or
// [ErrClosed].
func (f *Fence) Grant(ctx context.Context, after int64) (snowfence.Grant, error) {
	if after > f.scheme.MaxTick() {
		return snowfence.Grant{}, fmt.Errorf("workerid: %w: it ended at %s",
			snowfence.ErrLifetime, f.layout.EndOfLife().Format(time.RFC3339))
	}
	for {
		f.mu.Lock()
		g, ok := f.hand(after)
		closed, changed, why := f.closed, f.changed, f.why(after)
		if !ok && !closed && f.w == nil {
			f.search()
		}
		f.mu.Unlock()
		switch {
		case ok:
			return g, nil
		case closed:
			return g, fmt.Errorf("workerid: the fence: %w", ErrClosed)
		case wait(ctx, changed, nil) < 0:
			return g, unheard{fmt.Errorf("workerid: %w: %w", snowfence.ErrFenced, why), ctx.Err()}
		}
	}
}

// why says what a grant past after waits for. mu is held.
func (f *Fence) why(after int64) error {
	switch {
	case f.w == nil && f.trouble == nil:
		return errors.New("a number is being taken")
	case f.w == nil:
		return f.trouble
	}
	ahead := f.layout.TimeOf(after).Sub(time.UnixMilli(f.w.redisTime())).Round(time.Millisecond)
	if ahead < f.r.o.TTL {
		return errors.New("a renewal is not acknowledged by Redis yet")
	}
	return fmt.Errorf("the clock of this machine or the lead is %v ahead of Redis, more than the TTL of %v",
		ahead, f.r.o.TTL)
}

// redisTime is about what Redis calls now.
func (w *Worker) redisTime() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen.at(time.Now())
}

// lose is called when a number is over. It seals the generator and returns the
// first millisecond without an ID.
func (f *Fence) lose(w *Worker, why error) (unused int64) {
	f.mu.Lock()
	if f.w != w {
		f.mu.Unlock()
		return 0
	}
	seal, handed := f.seal, f.handed
	f.w, f.handed, f.trouble = nil, false, why
	f.closed = f.closed || isClosed(why)
	f.mu.Unlock()
	switch {
	case handed && seal != nil:
		unused = f.start(seal())
	case handed:
		unused = math.MaxInt64 // the holder of the grant may use all of it
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seal != nil && !f.closed {
		f.search()
	}
	f.tell()
	return unused
}

// start returns the first millisecond that is not before a tick.
func (f *Fence) start(tick int64) int64 {
	return f.layout.TimeOf(tick).Add(time.Millisecond - 1).UnixMilli()
}

// search takes another number in the background. mu is held.
func (f *Fence) search() {
	if f.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	f.r.searching(f, true)
	go f.find(ctx)
}

// find takes a number until it has one, or ctx ends.
func (f *Fence) find(ctx context.Context) {
	for ctx.Err() == nil {
		w, err := f.r.RegisterOne(ctx)
		if err == nil && f.found(ctx, w) {
			return
		}
		f.mu.Lock()
		f.trouble = err
		f.tell()
		f.mu.Unlock()
		pause(ctx, again)
	}
}

// found adopts a number, or closes it because no call waits for it any more. It
// returns false if the number was lost meanwhile.
func (f *Fence) found(ctx context.Context, w *Worker) bool {
	f.mu.Lock()
	if ctx.Err() == nil {
		defer f.mu.Unlock()
		err := f.adopt(w)
		if err == nil {
			f.rest()
		}
		return err == nil
	}
	f.mu.Unlock()
	_ = w.Close() // what is not given back runs out
	return true
}

// Release implements [snowfence.Fence]. The number expires when its last tick
// is over. Release does nothing for a number that was lost.
func (f *Fence) Release(ctx context.Context, g snowfence.Grant, used int64) error {
	f.mu.Lock()
	f.rest()
	w := f.w
	if w != nil {
		f.w, f.owed, f.unused = nil, w, 0
		if cur, _ := w.grant(f); cur.Node == g.Node && cur.From == g.From {
			f.unused = f.start(used)
		} else if f.handed {
			f.unused = math.MaxInt64 // another grant is given back, and this one may be in use
		}
		f.handed = false
	}
	owed, unused := f.owed, f.unused
	f.mu.Unlock()
	if w != nil {
		w.finish(fmt.Errorf("workerid: number %d: %w", w.number, ErrClosed))
	}
	if owed == nil || !isClosed(owed.Err()) {
		return nil
	}
	if err := owed.giveBack(ctx, unused); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.owed = nil
	return nil
}

// Close seals the generator and gives the number back, and waits for that at
// most five seconds. Closing the generator does the same, so then Close is not
// needed.
func (f *Fence) Close() error {
	f.mu.Lock()
	f.closed = true
	f.rest()
	w := f.w
	f.tell()
	f.mu.Unlock()
	if w == nil {
		return nil
	}
	return w.Close()
}

func isClosed(err error) bool { return errors.Is(err, ErrClosed) }

var (
	_ snowfence.Fence  = (*Fence)(nil)
	_ snowfence.Binder = (*Fence)(nil)
)
