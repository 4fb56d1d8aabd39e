package lease

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/claim"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// newLease returns a lease that has no grant yet.
func newLease(s *claim.Setup, c claim.Claim, r *reporter, idle time.Duration) *Lease {
	l := &Lease{
		setup: s, claim: c, reports: r, idle: idle, ops: make(chan struct{}, 1),
		done: make(chan struct{}), kicked: make(chan struct{}, 1), changed: make(chan struct{}),
		demand: demand{want: true, need: -1, used: s.World.Now()},
		pace:   pace{most: math.MaxInt64},
		unpin:  func() {},
		told:   s.Clock.Corrections(),
	}
	l.unlock()
	l.life, l.end = context.WithCancelCause(world.With(context.Background(), s.World))
	return l
}

// next returns when to renew: a third of the ttl later, give or take a
// tenth, so that holders do not fall into step.
func (l *Lease) next(now time.Time) time.Time {
	third := min(l.setup.LastTTL()/3, l.pace.most)
	return now.Add(third - third/10 + l.setup.Random(third/5+1))
}

// keep renews and heals the lease until its life ends. The store
// is called in another goroutine, because its stack gets deep
// and this one would keep it: a gigabyte with 131,072 leases.
func (l *Lease) keep() {
	defer close(l.done)
	defer l.unpin()
	for l.life.Err() == nil {
		wait := l.plan()
		if wait <= 0 {
			over := make(chan struct{})
			l.setup.World.Go(func() {
				defer close(over)
				l.attend()
			})
			l.setup.World.Wait(-1, over)
			continue
		}
		l.setup.World.Wait(wait, l.kicked, l.life.Done())
	}
}

// plan returns the wait until the next attempt. It is an hour when
// no caller needs the lease, because the next Grant wakes the keeper.
func (l *Lease) plan() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.demand.want || l.setup.World.Now().Sub(l.demand.used) >= l.idle {
		return time.Hour
	}
	if l.setup.Copied() {
		return 0
	}
	if l.use.cur == nil {
		return l.pace.earliest.Sub(l.setup.World.Now())
	}
	wait := l.pace.renewAt.Sub(l.setup.World.Now())
	if need := max(l.demand.need, l.use.cur.From); need >= l.use.cur.Until {
		// The grant is used up, or begins ahead of the clock: renew once
		// one ttl reaches past it.
		now := l.setup.Now()
		ready := max(l.pace.earliest.Sub(l.setup.World.Now()), 0)
		if need >= l.setup.Ticks.Target(now) {
			ready = max(ready, l.setup.Ticks.Layout.TimeOf(need+1).Sub(now.Add(l.setup.TTL)))
		}
		wait = min(wait, ready)
	}
	return wait
}

// attend renews the hold, or acquires one, once.
func (l *Lease) attend() {
	began := l.setup.World.Now()
	if l.setup.World.Wait(-1, l.ops, l.life.Done()) != 0 {
		return
	}
	defer l.unlock()
	l.mu.Lock()
	want, before := l.demand.want, l.use.cur
	limit := l.setup.TTL
	if before != nil { // until the next renewal is due; an acquisition may look at many nodes
		limit = min(l.setup.LastTTL()/3, l.pace.most)
	}
	ctx, cancel := l.setup.World.WithTimeout(l.life, max(limit, time.Second))
	defer cancel()
	l.stopOp = cancel
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.stopOp = nil
		l.mu.Unlock()
	}()
	if !want {
		return // given back in the meantime
	}
	err := l.attempt(ctx)
	if err != nil {
		err = l.heal(ctx, err)
	}
	// a Release or Close that interrupts is no trouble
	if err == nil || !errors.Is(ctx.Err(), context.Canceled) || fatal(err) {
		l.note(err, before, began)
	}
}

// attempt has the claim take its next step. It needs ops.
func (l *Lease) attempt(ctx context.Context) error {
	if err := l.forget(); err != nil { // before anything is written
		return err
	}
	l.mu.Lock()
	spent := l.use.spent
	l.mu.Unlock()
	if spent {
		if err := l.giveBackOwed(ctx); err != nil {
			return err
		}
	}
	g, err := l.claim.Next(ctx)
	if copied := l.forget(); copied != nil { // before the answer is used
		return copied
	}
	if err != nil {
		return l.sealIfLost(err)
	}
	l.publish(g)
	return nil
}

// note records the result of an attempt. before is the grant before it. It
// logs without the mutex, because a log handler may ask the lease.
func (l *Lease) note(err error, before *snowfence.Grant, began time.Time) {
	if l.life.Err() != nil {
		return
	}
	l.mu.Lock()
	failures, tell := l.pace.failures, false
	if err == nil {
		l.succeeded(before, began)
	} else {
		tell = l.failed(err)
	}
	l.mu.Unlock()
	switch {
	case err == nil && failures > 0: // whoever sees the warning sees its end
		l.setup.Logger.Warn("lease renewed again", "namespace", l.setup.Name, "label", l.setup.Label,
			"failures", failures)
	case tell:
		l.reports.report(EventLate, err, "label", l.setup.Label, "failures", failures+1)
	}
}

// succeeded notes a renewal or an acquisition. mu is held.
func (l *Lease) succeeded(before *snowfence.Grant, began time.Time) {
	now := l.setup.World.Now()
	l.trouble, l.pace.failures, l.pace.quiet, l.pace.tellAt = nil, 0, 0, time.Time{}
	if before != nil && l.pace.renewAt.Before(began) {
		began = l.pace.renewAt
	}
	l.pace.renewed, l.pace.took = now, now.Sub(began)
	l.pace.renewAt = l.next(now)
	l.pace.earliest = now.Add(min(l.setup.TTL/100, 20*time.Millisecond))
	if l.use.cur != nil && before != nil && *l.use.cur == *before {
		// The renewal gained no tick, as when the clock is behind.
		l.pace.earliest = now.Add(min(l.setup.TTL/10, 400*time.Millisecond))
	}
}

// failed notes an attempt that failed, and ends a lease that cannot heal.
// tell is whether the log needs a line about it. mu is held.
func (l *Lease) failed(err error) (tell bool) {
	l.trouble = err
	now := l.setup.World.Now()
	l.pace.earliest = now.Add(l.setup.Backoff(l.pace.failures))
	l.pace.renewAt = l.pace.earliest
	if tell = !now.Before(l.pace.tellAt); tell {
		l.pace.quiet = max(2*l.pace.quiet, time.Second) // an outage does not flood the log
		l.pace.tellAt = now.Add(l.pace.quiet)
	}
	l.pace.failures++
	l.wakeWaiters() // waiting callers learn of the trouble when they give up
	if fatal(err) {
		l.end(fmt.Errorf("lease: namespace %q: %w: %w", l.setup.Name, ErrEnded, err))
	}
	return tell
}

// heal acquires again after a loss, and returns the remaining error. It
// needs ops.
func (l *Lease) heal(ctx context.Context, err error) error {
	if claim.IsLost(err) && !fatal(err) {
		err = l.attempt(ctx)
	}
	return err
}

// sealIfLost seals the generator after a loss, before anything else
// happens.
func (l *Lease) sealIfLost(err error) error {
	if !claim.IsLost(err) {
		return err
	}
	l.mu.Lock()
	seal, had := l.seal, l.use.cur != nil
	l.drop(err)
	l.mu.Unlock()
	if seal != nil {
		seal()
	}
	if had {
		l.reports.report(EventLost, err, "label", l.setup.Label)
	}
	return err
}

// fatal reports whether a lease cannot heal from err.
func fatal(err error) bool {
	return errors.Is(err, ErrMismatch) || errors.Is(err, store.ErrReplaced) || errors.Is(err, snowfence.ErrLifetime) ||
		errors.Is(err, fault.ErrDeleted) || errors.Is(err, ErrExists) || errors.Is(err, store.ErrMoved)
}

// forget ends a hold that a copy of this machine shares, as a loss; without
// a copy it does nothing and returns nil. Nothing is given back: it runs
// out. It needs ops.
func (l *Lease) forget() error {
	if !l.setup.Copied() {
		return nil
	}
	m := l.setup.World.Machine() // first: an identity that is made before a resumption is in both copies
	l.claim.Forget()
	l.mu.Lock()
	l.use.spent, l.use.owed = false, nil
	l.mu.Unlock()
	err := l.sealIfLost(claim.Lost(fmt.Errorf("lease: namespace %q: the machine was resumed from a snapshot, and a "+
		"copy of it may have the same node", l.setup.Name)))
	l.setup.SetMachine(m) // last: until here no caller gets a grant
	return err
}
