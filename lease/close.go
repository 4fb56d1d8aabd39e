package lease

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/claim"
)

// closeWait bounds how long Close gives back.
const closeWait = 5 * time.Second

// Release implements [snowfence.Fence]: it gives the node back, with used
// as the floor for the next holder. The lease stays open, and the next call
// of Grant acquires again. It does nothing for a grant that the lease no
// longer has. An error says until when the node stays taken, and Release
// may be called again.
func (l *Lease) Release(ctx context.Context, g snowfence.Grant, used int64) error {
	l.mu.Lock()
	if l.use.cur != nil && l.use.cur.Node == g.Node && l.use.cur.From == g.From {
		l.use.owed = &claim.Owed{Node: g.Node, From: g.From, Used: used}
		l.drop(nil)
		l.use.spent, l.demand.want = true, false
	}
	o, one := l.use.owed, l.oneGenerator
	l.mu.Unlock()
	switch {
	case one:
		return l.Shutdown(ctx)
	case o == nil || o.Node != g.Node || o.From != g.From:
		return nil
	}
	return l.inTime(ctx, func(ctx context.Context) error {
		if err := l.lock(ctx); err != nil {
			return err
		}
		defer l.unlock()
		l.mu.Lock()
		given := l.use.owed != o
		l.mu.Unlock()
		if given { // by another call, and perhaps there is a new grant by now
			return nil
		}
		return l.giveBackOwed(ctx)
	})
}

// Close ends the lease at once, whatever the store does. It seals the
// generator and stops renewals. Then it gives the node back, and waits for
// that at most five seconds, and no longer than the grant lasts. The error
// says until when the node stays taken; call [Lease.Shutdown] to try again.
// A second Close returns the result of the first.
func (l *Lease) Close() error {
	l.mu.Lock()
	first := l.closing == nil
	if first {
		l.closing = make(chan struct{})
	}
	l.mu.Unlock()
	if !first {
		l.setup.World.Wait(-1, l.closing)
		return l.result
	}
	defer close(l.closing)
	ctx, cancel := l.setup.World.WithTimeout(world.With(context.Background(), l.setup.World), closeWait)
	defer cancel()
	l.result = l.Shutdown(ctx)
	return l.result
}

// Shutdown is Close with a time limit of your own. It ends the lease at
// once, also when ctx has ended. Then it tries to give the node back until
// ctx ends or the grant has run out. After an error you may call it again.
func (l *Lease) Shutdown(ctx context.Context) error {
	l.once.Do(l.stop)
	err := l.inTime(ctx, func(ctx context.Context) error {
		if l.setup.World.Wait(-1, l.done, ctx.Done()) != 0 { // or the keeper might acquire once more
			return ctx.Err()
		}
		if err := l.lock(ctx); err != nil {
			return err
		}
		defer l.unlock()
		return l.giveBackOwed(ctx)
	})
	if err == nil {
		l.unpin() // the keeper does it, too, but perhaps after the caller has closed the store
	}
	return err
}

// giveBackOwed gives back the lease's hold, with the unused part if that is
// known. None of it is given out again, even after an error. It needs ops.
func (l *Lease) giveBackOwed(ctx context.Context) error {
	l.mu.Lock()
	l.spend()
	o := l.use.owed
	l.mu.Unlock()
	if err := l.claim.GiveBack(ctx, o); err != nil {
		return err
	}
	l.mu.Lock()
	l.use.spent, l.use.owed = false, nil
	l.mu.Unlock()
	return nil
}

// stop ends the lease and seals its generator.
//
// The order is the rule: the grant goes before the seal. Otherwise a
// generator could get it again.
func (l *Lease) stop() {
	l.end(fmt.Errorf("lease: namespace %q: %w: it was closed", l.setup.Name, ErrEnded))
	l.mu.Lock()
	g, handed, seal := l.use.cur, l.use.handed, l.seal
	l.drop(nil)
	l.use.spent = true
	l.mu.Unlock()
	var used int64
	if seal != nil {
		used = seal()
	}
	if g != nil && (seal != nil || !handed) {
		l.mu.Lock()
		l.use.owed = &claim.Owed{Node: g.Node, From: g.From, Used: used}
		l.mu.Unlock()
	}
}

// inTime calls do until it is done, ctx ends, or the grant has run out,
// even when the store does not answer.
func (l *Lease) inTime(ctx context.Context, do func(context.Context) error) error {
	kept := l.setup.Kept()
	if kept == nil {
		return nil
	}
	now := l.setup.Now()
	end := l.setup.Ticks.Layout.TimeOf(kept.Until)
	if !now.Before(end) {
		return nil
	}
	ctx, cancel := l.setup.World.WithTimeout(world.With(ctx, l.setup.World), end.Sub(now))
	done := make(chan struct{})
	var answer error // of a store that may answer after this call
	l.setup.World.Go(func() {
		defer cancel()
		defer close(done) // first
		answer = do(ctx)
	})
	l.setup.World.Wait(-1, done, ctx.Done())
	var err error
	select {
	case <-done:
		err = answer
	default:
		err = fmt.Errorf("the store has not answered: %w", ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("lease: %s of namespace %q stays taken until %s: %w", kept, l.setup.Name,
			end.Format(time.RFC3339Nano), err)
	}
	return nil
}

// lock waits for the right to use the claim, and interrupts the keeper if
// it has it.
func (l *Lease) lock(ctx context.Context) error {
	l.mu.Lock()
	if l.stopOp != nil {
		l.stopOp()
	}
	l.mu.Unlock()
	if l.setup.World.Wait(-1, l.ops, ctx.Done()) != 0 {
		return fmt.Errorf("lease: namespace %q: the store is busy with a renewal: %w", l.setup.Name, ctx.Err())
	}
	return nil
}

// closers is how many leases are closed at a time. Each makes several round
// trips one after another, so these are enough to fill the round trips of a
// [store.Group].
const closers = 4000

// ShutdownAll ends all leases at once and gives their nodes back, many at a
// time, as [Lease.Shutdown] does for one. It tries all of them and returns
// the first error.
func ShutdownAll(ctx context.Context, leases []*Lease) error {
	for _, l := range leases {
		l.once.Do(l.stop)
	}
	errs := make([]error, len(leases))
	_ = each(len(leases), closers, func(i int) error {
		errs[i] = leases[i].Shutdown(ctx)
		return nil
	})
	return cmp.Or(errs...)
}

// each calls do for 0 to n−1, at most so many at a time. After an error it
// begins no more calls, and returns when those under way have ended. It
// does not interrupt them, because an interrupted acquisition may leave a
// node held.
func each(n, most int, do func(i int) error) error {
	errs := make([]error, n)
	places := make(chan struct{}, most)
	var failed atomic.Bool
	var wg sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		if failed.Load() {
			break
		}
		wg.Go(func() {
			if errs[i] = do(i); errs[i] != nil {
				failed.Store(true)
			}
			<-places
		})
	}
	wg.Wait()
	return cmp.Or(errs...)
}
