package simulate

import (
	"time"

	"github.com/snowfence/snowfence"
)

// clock is the wall clock of a simulated machine. Its monotonic clock is
// the virtual time itself.
type clock struct {
	offset time.Duration // from the true time, at since
	since  time.Duration
	drift  int64 // parts in a million
	frozen bool
}

// offsetAt returns how far the clock is from the true time at a moment.
func (c clock) offsetAt(now time.Duration) time.Duration {
	if c.frozen {
		return c.offset - (now - c.since)
	}
	return c.offset + (now-c.since)/1_000_000*time.Duration(c.drift)
}

// moveTo moves the clock to be off by so much from now on.
func (c *clock) moveTo(now, off time.Duration, drift int64, frozen bool) {
	*c = clock{offset: off, since: now, drift: drift, frozen: frozen}
}

// start is the true time at which all simulations begin.
func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func (p *process) wallClock() time.Time {
	return start().Add(p.virtualTime() + p.clock.offsetAt(p.virtualTime()))
}

// Now implements world.World: monotonic time, or the wall clock of a
// program with numbers of the day.
func (p *process) Now() time.Time {
	if p.s.counters != nil {
		return p.wallClock().Add(p.s.eve)
	}
	return start().Add(p.virtualTime())
}

// timeSource is the process's clocks as its lease reads them.
func (p *process) timeSource() snowfence.TimeSource {
	return func() (time.Time, time.Duration) { return p.wallClock(), p.virtualTime() }
}

// stallingSource is source for a generator: between a reading and its use
// the goroutine may lose its processor for any time. The reading is old by
// then, and that must not matter.
func (p *process) stallingSource() snowfence.TimeSource {
	return func() (time.Time, time.Duration) {
		wall, mono := p.wallClock(), p.virtualTime()
		if t := p.s.task; t != nil && t.p == p && p.programRand.IntN(256) == 0 {
			p.Wait(p.drawStall())
		}
		return wall, mono
	}
}

// drawStall returns for how long a goroutine stalls: mostly as long as the
// scheduler of a busy machine takes, at times for longer than a lease
// lives.
func (p *process) drawStall() time.Duration {
	d := time.Duration(1 + p.programRand.IntN(2_000_000))
	if p.programRand.IntN(8) == 0 && p.s.drawFault(faultStall, p, 0) {
		d = time.Duration(1 + p.env.Int64N(int64(2*p.s.ttl)))
	}
	return d
}
