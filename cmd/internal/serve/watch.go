package serve

import (
	"context"
	"time"
)

// watchAll looks at files, the clock and the store, until ctx ends.
func (p *Process) watchAll(ctx context.Context) {
	every := time.NewTicker(p.cfg.pollWait)
	defer every.Stop()
	for {
		p.checkReady(ctx)
		p.readFiles()
		p.checkClock()
		now := time.Now()
		p.lastCheck.Store(&now)
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// watchdog tells systemd that the service is alive, for as long as watch
// goes round: a look at a store that hangs ends by itself within seconds.
func (p *Process) watchdog(ctx context.Context, within time.Duration) {
	every := time.NewTicker(max(within/3, time.Millisecond))
	defer every.Stop()
	for {
		if time.Since(*p.lastCheck.Load()) < max(within, 10*time.Second) {
			p.notifySystemd("WATCHDOG=1")
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// stepFrom is the least that counts as a step. Clocks that are slewed move
// by half a millisecond a second.
const stepFrom = 50 * time.Millisecond

// stepSince compares the wall clock with monotonic time since the last
// look, and returns the step between them, 0 for none. A machine that slept
// looks like a step forward, because monotonic time stands still then.
func (c *ClockSteps) stepSince(now time.Time) time.Duration {
	wall := now.Round(0)
	defer func() { c.wall, c.mono = wall, now }()
	if c.mono.IsZero() {
		return 0
	}
	step := wall.Sub(c.wall) - now.Sub(c.mono)
	return c.record(step)
}

func (c *ClockSteps) record(step time.Duration) time.Duration {
	switch {
	case step <= -stepFrom:
		c.Back.Add(1)
	case step >= stepFrom:
		c.Forward.Add(1)
	default:
		return 0
	}
	c.Last.Store(int64(step))
	return step
}

func (p *Process) checkClock() {
	step := p.clock.stepSince(time.Now())
	if step == 0 {
		return
	}
	p.cfg.Logger.Warn("clock step", "step", step)
}
