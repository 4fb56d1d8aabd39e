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

// Fence is a [snowfence.Fence] over a number. When the number is lost it
// seals its generator at once, and takes another one. It ends with its
// generator.
type Fence struct {
	r      *Registrar
	scheme *snowfence.Scheme
	layout snowfence.Layout
	life   context.Context // ends with the fence
	end    context.CancelFunc

	mu      sync.Mutex
	w       *Worker       // nil while there is none; kept when it was given back
	seal    func() int64  // of the bound generator; nil when there is none
	trouble error         // why there is no number
	changed chan struct{} // closed and replaced when w or its end changes
}

// fits refuses a scheme that cannot use the numbers, or only for a part of
// the TTL.
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

func (f *Fence) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell()
}

// tell wakes all who wait. mu is held.
func (f *Fence) tell() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// Scheme implements [snowfence.Fence].
func (f *Fence) Scheme() *snowfence.Scheme { return f.scheme }

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

// unbind ends the fence. It leaves a number that was not given back to run
// out, so that no other generator gets its ticks.
func (f *Fence) unbind() {
	f.end()
	f.mu.Lock()
	w := f.w
	f.seal = nil
	f.mu.Unlock()
	if w != nil {
		w.finish(ErrClosed)
	}
}

// Held implements [snowfence.Fence]. It answers from memory.
func (f *Fence) Held(after int64) (snowfence.Grant, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hand(after)
}

// hand returns the grant if it reaches past the tick after. mu is held.
func (f *Fence) hand(after int64) (snowfence.Grant, bool) {
	if f.w == nil {
		return snowfence.Grant{}, false
	}
	g, ok := f.w.grant(f)
	return g, ok && g.Until > after
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
		From:  w.first(f),
		Until: min(f.layout.TickOf(time.UnixMilli(w.expiry)), f.scheme.MaxTick()+1),
	}
	return g, g.From < g.Until
}

// Grant implements [snowfence.Fence]. It waits for a renewal, or for
// another number. Its error says what prevents one, and matches
// snowfence.ErrFenced or [ErrClosed].
func (f *Fence) Grant(ctx context.Context, after int64) (snowfence.Grant, error) {
	if after > f.scheme.MaxTick() {
		return snowfence.Grant{}, fmt.Errorf("workerid: %w: it ended at %s",
			snowfence.ErrLifetime, f.layout.EndOfLife().Format(time.RFC3339))
	}
	for {
		f.mu.Lock()
		g, ok := f.hand(after)
		changed, why := f.changed, f.why(after)
		f.mu.Unlock()
		switch {
		case ok:
			return g, nil
		case f.life.Err() != nil:
			return g, fmt.Errorf("workerid: the fence: %w", ErrClosed)
		case wait(ctx, changed, f.life.Done()) < 0:
			return g, unheard{fmt.Errorf("workerid: %w: %w", snowfence.ErrFenced, why), ctx.Err()}
		}
	}
}

// why says what a grant past after waits for. mu is held.
func (f *Fence) why(after int64) error {
	if f.w == nil {
		return f.trouble
	}
	f.w.mu.Lock()
	now := f.w.seen.at(time.Now())
	f.w.mu.Unlock()
	ahead := f.layout.TimeOf(after).Sub(time.UnixMilli(now)).Round(time.Millisecond)
	if ahead < f.r.o.TTL {
		return errors.New("a renewal is not acknowledged by Redis yet")
	}
	return fmt.Errorf("the clock of this machine or the lead is %v ahead of Redis, more than the TTL of %v",
		ahead, f.r.o.TTL)
}

// first returns the first tick of the grant.
func (w *Worker) first(f *Fence) int64 { return max(f.layout.TickOf(time.UnixMilli(w.from)), 0) }

// lose is called when a number is over. It seals the generator and returns
// the first millisecond without an ID.
func (f *Fence) lose(w *Worker, why error) (unused int64) {
	f.mu.Lock()
	if f.w != w {
		f.mu.Unlock()
		return 0
	}
	seal := f.seal
	f.mu.Unlock()
	unused = math.MaxInt64 // without a generator nobody knows
	if seal != nil {
		unused = f.start(seal())
	}
	if !errors.Is(why, ErrLost) {
		f.end()
		return unused
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.w, f.trouble = nil, why
	f.tell()
	go f.search()
	return unused
}

// start returns the first millisecond that is not before a tick.
func (f *Fence) start(tick int64) int64 {
	return f.layout.TimeOf(tick).Add(time.Millisecond - 1).UnixMilli()
}

// search takes numbers until the fence has one, or ends.
func (f *Fence) search() {
	for f.life.Err() == nil {
		w, err := f.r.RegisterOne(f.life)
		if err == nil {
			if err = f.adopt(w); err == nil {
				return
			}
			_ = w.Close() // what is not given back runs out
		}
		f.mu.Lock()
		f.trouble = err
		f.mu.Unlock()
		pause(f.life, again)
	}
}

// adopt makes the number the fence's.
func (f *Fence) adopt(w *Worker) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case f.life.Err() != nil:
		return ErrClosed
	case w.err != nil:
		return fmt.Errorf("workerid: number %d: %w", w.number, w.err)
	case w.fence != nil:
		return fmt.Errorf("workerid: number %d has a fence already: use that one", w.number)
	}
	w.fence, f.w = f, w
	f.tell()
	return nil
}

// Release implements [snowfence.Fence]. The number expires when its last
// tick is over. Release does nothing for a number that was lost.
func (f *Fence) Release(ctx context.Context, g snowfence.Grant, used int64) error {
	f.mu.Lock()
	w := f.w
	f.mu.Unlock()
	if w == nil || g.Node != w.number || g.From != w.first(f) {
		return nil
	}
	f.end()
	w.finish(ErrClosed)
	if errors.Is(w.Err(), ErrLost) {
		return nil
	}
	return w.giveBack(ctx, f.start(used))
}

// Close seals the generator and gives the number back, and waits for that
// at most five seconds. Closing the generator does the same, so then Close
// is not needed.
func (f *Fence) Close() error {
	f.end()
	f.mu.Lock()
	w := f.w
	f.mu.Unlock()
	if w == nil {
		return nil
	}
	return w.Close()
}

var (
	_ snowfence.Fence  = (*Fence)(nil)
	_ snowfence.Binder = (*Fence)(nil)
)
