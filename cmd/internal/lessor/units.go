package lessor

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/sublet"
)

const (
	lookEvery = time.Second            // how often a lessor looks at its units
	emptyFor  = time.Minute            // how long a unit has no holder before it is given back
	failedFor = 200 * time.Millisecond // how long a failure is told again, so that not each caller asks the store
	openWait  = 10 * time.Second       // for a unit that is leased ahead of demand, or given back
)

// most reports whether the used nodes are more than four fifths of all.
// Then another unit is leased, so that callers do not wait for it.
func most(used, nodes int64) bool { return used*5 > nodes*4 }

// noteSublets adds n to the nodes with a holder, and leases ahead if most
// have one.
func (l *Lessor) noteSublets(n int64) {
	if most(l.holders.Add(n), l.all.Load()) && l.ahead.CompareAndSwap(false, true) {
		l.work.Go(func() { l.leaseAhead() })
	}
}

// leaseAhead leases another unit. After a failure it pauses: callers ask
// for a unit themselves.
func (l *Lessor) leaseAhead() {
	defer l.ahead.Store(false)
	l.mu.RLock()
	seen := l.unitCount
	l.mu.RUnlock()
	if err := l.leaseUnit(l.life, snowfence.NodeRange{}, seen); err != nil {
		select {
		case <-time.After(lookEvery):
		case <-l.life.Done():
		}
	}
}

// Outlive calls do in its turn, and bounds it by time alone. A caller
// that leaves breaks nothing off: nodes that are being leased would stay
// taken, and nobody would have them.
func Outlive(ctx context.Context, turn chan struct{}, do func(context.Context) error) error {
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openWait)
		err := do(ctx)
		cancel()
		<-turn
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leaseUnit leases another unit in its turn, as openUnit does.
func (l *Lessor) leaseUnit(ctx context.Context, within snowfence.NodeRange, seen int) error {
	return Outlive(ctx, l.gate, func(ctx context.Context) error { return l.openUnit(ctx, within, seen) })
}

// openUnit leases another unit, unless there is a unit that the caller has
// not seen.
func (l *Lessor) openUnit(ctx context.Context, within snowfence.NodeRange, seen int) error {
	l.mu.RLock()
	opened, failed, until, ended := l.unitCount, l.failure, l.until, l.ended
	l.mu.RUnlock()
	anywhere := within == snowfence.NodeRange{}
	switch {
	case ended:
		return errEnded
	case opened != seen:
		return nil
	case anywhere && time.Now().Before(until):
		return failed
	}
	life := l.id + "." + rand.Text()
	sub, err := l.open(ctx, within, life)
	if err == nil {
		if err = l.addUnit(sub, life); err != nil {
			l.giveBack(sub.Lease())
		}
	} else if anywhere {
		l.mu.Lock()
		l.failure, l.until = err, time.Now().Add(failedFor)
		l.mu.Unlock()
	}
	return err
}

// addUnit hands out the nodes of a unit. The caller has the gate.
func (l *Lessor) addUnit(sub *sublet.Server, life string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return errEnded
	}
	if l.unitCount++; l.unitCount == 1 {
		l.work.Go(l.watchUnits)
	}
	u := &unit{Server: sub, life: life, nodes: sub.Lease().Status().Grant.Nodes, empty: time.Now()}
	l.units, l.byLife[life] = append(l.units, u), u
	l.last.Store(int64(len(l.units) - 1))
	l.all.Add(u.nodes)
	return nil
}

// watchUnits counts the holders every second, and lets go of unneeded
// units.
func (l *Lessor) watchUnits() {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-l.life.Done():
			return
		}
		gone, why := l.dropUnits(time.Now())
		for _, one := range gone {
			l.work.Go(func() { l.giveBack(one) })
		}
		if why != nil {
			l.onEnd(why)
		}
		l.noteSublets(0)
	}
}

// dropUnits removes two kinds of units: those that are not needed, with
// their leases in gone, and those with an ended lease, with the reasons in
// why.
func (l *Lessor) dropUnits(now time.Time) (gone []*lease.Lease, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	used, all := int64(0), int64(0)
	l.freed.Clear()
	for _, u := range l.units {
		u.sublet = u.Held(nil)
		if u.sublet > 0 {
			u.empty = time.Time{}
		} else if u.empty.IsZero() {
			u.empty = now
		}
		used, all = used+u.sublet, all+u.nodes
	}
	l.units = slices.DeleteFunc(l.units, func(u *unit) bool {
		err := u.Lease().Err()
		long := !u.empty.IsZero() && now.Sub(u.empty) >= emptyFor
		if err == nil && (!long || most(used, all-u.nodes)) {
			return false
		}
		all -= u.nodes
		delete(l.byLife, u.life)
		if err == nil {
			gone = append(gone, u.Lease())
		} else {
			why = errors.Join(why, err)
		}
		return true
	})
	l.holders.Store(used)
	l.all.Store(all)
	return gone, why
}

// giveBack ends the lease of a unit without holders.
func (l *Lessor) giveBack(one *lease.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.life), openWait)
	defer cancel()
	_ = one.Shutdown(ctx) // otherwise it runs out
}
