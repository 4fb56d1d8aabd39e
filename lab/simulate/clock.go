package simulate

import (
	"time"

	"github.com/snowfence/snowfence"
)

// clock is the wall clock of a simulated machine. Its monotonic clock is the virtual time itself.
type clock struct {
	offset time.Duration // from the true time, at since
	since  time.Duration
	drift  int64 // parts in a million
	frozen bool
}

// off returns how far the clock is from the true time at a moment.
func (c clock) off(now time.Duration) time.Duration {
	if c.frozen {
		return c.offset - (now - c.since)
	}
	return c.offset + (now-c.since)/1_000_000*time.Duration(c.drift)
}

// set moves the clock to be off by so much from now on.
func (c *clock) set(now, off time.Duration, drift int64, frozen bool) {
	*c = clock{offset: off, since: now, drift: drift, frozen: frozen}
}

// start is the true time at which all simulations begin.
func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// wall returns the process's wall clock.
func (p *process) wall() time.Time { return start().Add(p.now() + p.clock.off(p.now())) }

// Now implements world.World: monotonic time, or the wall clock of a program with numbers of the
// day.
func (p *process) Now() time.Time {
	if p.s.counters != nil {
		return p.wall().Add(p.s.eve)
	}
	return start().Add(p.now())
}

// source is the process's clocks as its lease reads them.
func (p *process) source() snowfence.TimeSource {
	return func() (time.Time, time.Duration) { return p.wall(), p.now() }
}

// stalling is source for a generator: between a reading and its use the goroutine may lose its
// processor for any time. The reading is old by then, and that must not matter.
func (p *process) stalling() snowfence.TimeSource {
	return func() (time.Time, time.Duration) {
		wall, mono := p.wall(), p.now()
		if t := p.s.running; t != nil && t.p == p && p.own.IntN(256) == 0 {
			p.Wait(p.stall())
		}
		return wall, mono
	}
}

// stall returns for how long a goroutine stalls: mostly as long as the scheduler of a
// busy machine takes, at times for longer than a lease lives.
func (p *process) stall() time.Duration {
	d := time.Duration(1 + p.own.IntN(2_000_000))
	if p.own.IntN(8) == 0 && p.s.fault(faultStall, p, 0) {
		d = time.Duration(1 + p.env.Int64N(int64(2*p.s.ttl)))
	}
	return d
}
