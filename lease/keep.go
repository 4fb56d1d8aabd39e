package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
)

// next returns when to renew after a renewal: a third of the ttl later, give or take a tenth of that, so that holders do not fall into step. Leases opened
// together have their own times, a third apart, that are spread evenly in the order of the nodes, and come back to them when an outage is over: so a store writes
// neighbours together, which is several times as fast as nodes from everywhere.
func (l *Lease) next(now time.Time) time.Time {
	third := l.opts.TTL / 3
	if l.slot.IsZero() {
		return now.Add(third - third/10 + l.random(third/5+1))
	}
	latest := now.Add(third + third/10)
	return latest.Add(-(latest.Sub(l.slot) % third))
}

// backoff returns how long to wait after so many failures in a row: short at first, since callers of the generator wait.
func (l *Lease) backoff(failures int) time.Duration {
	d := min(10*time.Millisecond<<min(failures, 8), time.Second, l.opts.TTL/3)
	return d/2 + l.random(d/2+1)
}

func (l *Lease) random(n time.Duration) time.Duration {
	return time.Duration(world.Rand(l.world).Int64N(int64(n)))
}

// kick wakes the keeper.
func (l *Lease) kick() {
	select {
	case l.kicked <- struct{}{}:
	default:
	}
}

// keep renews and heals the lease until its life ends. It is the only goroutine that a lease always has; talking to the store needs a deep stack, and a
// goroutine keeps what it once had for long, so that is done in one of its own. With 131,072 leases that is a gigabyte.
func (l *Lease) keep() {
	defer close(l.done)
	defer l.unpin()
	for l.life.Err() == nil {
		wait := l.plan()
		if wait <= 0 {
			over := make(chan struct{})
			l.world.Go(func() {
				defer close(over)
				l.attend()
			})
			l.world.Wait(-1, over)
			continue
		}
		l.world.Wait(wait, l.kicked, l.life.Done())
	}
}

// plan returns how long until something has to be done, and an hour when nothing has to be: the next Grant wakes the keeper.
func (l *Lease) plan() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.want || l.world.Now().Sub(l.used) >= l.opts.Idle {
		return time.Hour
	}
	at := l.renewAt
	switch now, _ := l.opts.Time(); {
	case l.cur == nil:
		at = l.earliest
	case l.need >= l.cur.Until:
		// Somebody ran through the whole grant. A renewal helps once the clock is near enough for one ttl to reach past it.
		ready := l.world.Now()
		if ahead := l.need - l.ticks.target(now) + 1; ahead > 0 {
			ready = ready.Add(l.ticks.layout.TimeOf(l.need + 1).Sub(now.Add(l.opts.TTL)))
		}
		if ready.Before(l.earliest) {
			ready = l.earliest
		}
		if ready.Before(at) {
			at = ready
		}
	}
	return at.Sub(l.world.Now())
}

// attend renews what is held, or acquires what is not, once.
func (l *Lease) attend() {
	began := l.world.Now()
	if l.world.Wait(-1, l.ops, l.life.Done()) != 0 {
		return
	}
	defer l.unlock()
	ctx, cancel := l.world.WithTimeout(l.life, max(l.opts.TTL, time.Second))
	defer cancel()
	l.mu.Lock()
	want, spent, before := l.want, l.spent, l.cur
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
	err := l.tend(ctx, spent)
	if lost(err) && !fatal(err) {
		err = l.tend(ctx, false) // heal at once
	}
	if err != nil && !lost(err) {
		err = l.replaced(ctx, err)
	}
	if err == nil || !errors.Is(ctx.Err(), context.Canceled) || fatal(err) { // unless Release or Close wanted the store, which is no trouble
		l.note(err, before, began)
	}
}

// tend does what the present state asks for.
func (l *Lease) tend(ctx context.Context, spent bool) error {
	if spent {
		if err := l.giveBackOwed(ctx); err != nil {
			return err
		}
	}
	switch {
	case l.hold == nil:
		return l.acquire(ctx, true)
	case l.hold.pending:
		return l.settle(ctx)
	}
	return l.renew(ctx)
}

// note remembers how the last attempt went, with before as the grant until then and began as its begin, and when the next is due.
func (l *Lease) note(err error, before *snowfence.Grant, began time.Time) {
	if l.life.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.world.Now()
	if err == nil {
		if l.failures > 0 {
			l.opts.Logger.Info("lease renewed again", "namespace", l.name, "label", l.opts.Label, "failures", l.failures)
		}
		l.trouble, l.failures = nil, 0
		if before != nil && l.renewAt.Before(began) {
			began = l.renewAt
		}
		l.renewed, l.took = now, now.Sub(began)
		l.renewAt = l.next(now)
		l.earliest = now.Add(min(l.opts.TTL/100, 20*time.Millisecond))
		if l.cur != nil && before != nil && *l.cur == *before {
			// Nothing was gained: a stretch that is used up lies ahead, or the clock is behind. It may be set right at any moment, and callers wait for
			// a second by default.
			l.earliest = now.Add(min(l.opts.TTL/10, 400*time.Millisecond))
		}
		return
	}
	l.trouble = err
	l.earliest = now.Add(l.backoff(l.failures))
	l.renewAt = l.earliest
	l.failures++
	close(l.changed) // waiting callers learn of the trouble when they give up
	l.changed = make(chan struct{})
	if l.failures&(l.failures-1) == 0 { // the 1st, 2nd, 4th, …: an outage does not flood the log
		l.opts.Logger.Warn("lease not renewed", "namespace", l.name, "label", l.opts.Label, "failures", l.failures, "cause", err)
	}
	if fatal(err) {
		l.end(fmt.Errorf("lease: namespace %q: %w: %w", l.name, ErrEnded, err))
	}
}

// fatal reports whether a lease cannot heal from err.
func fatal(err error) bool {
	var m *MismatchError
	return errors.As(err, &m) || errors.Is(err, ErrReplaced) || errors.Is(err, snowfence.ErrLifetime) || errors.Is(err, errDeleted)
}

// publish makes what the store acknowledged available to Grant.
func (l *Lease) publish(until int64) {
	h := l.hold
	g := snowfence.Grant{Node: h.records[0].Node, From: h.from, Until: until, Nodes: int64(len(h.records))}
	l.known = max(l.known, until)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spent {
		return
	}
	if l.cur == nil || l.cur.Node != g.Node || l.cur.From != g.From {
		l.handed = false
	}
	l.cur, l.of = &g, h
	if until > l.need {
		l.need = -1
	}
	close(l.changed)
	l.changed = make(chan struct{})
}
