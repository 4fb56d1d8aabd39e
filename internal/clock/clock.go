// Package clock tells the time of generators and leases. Only a raw clock
// goes back by itself.
package clock

import (
	"errors"
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// Source reads the wall clock and a monotonic time, which starts anywhere
// and never steps. nil means the system's clocks.
type Source = func() (wall time.Time, mono time.Duration)

// ErrCorrected tells a generator that its wall clock was ahead, and now
// agrees with another clock.
var ErrCorrected = errors.New("the clock was ahead, and is right again")

// Clock tells the tick of a layout. It reads the wall clock once and then
// adds monotonic time, which costs one clock read instead of two and does
// not step. Every SyncEvery it compares: it follows the wall clock forward
// at once, and runs at half speed while that is behind. So it never goes
// back by itself.
//
// A raw clock is the wall clock itself, for layouts with rollback bits.
type Clock struct {
	Source Source
	Raw    bool
	epoch  time.Time

	// tick = ns / tickLen = floor(ns × magic / 2^(64+shift)): see
	// Reciprocal.
	tickLen uint64
	magic   uint64
	shift   uint8

	Base     time.Time     // start of elapsed time, with its monotonic part
	baseMono time.Duration // the same of a Source

	anchor      atomic.Pointer[anchor]
	corrections atomic.Int64
}

// Steady returns a Clock for a fence. After a step back, the fence still
// grants the ticks of its generator. raw is as for Init.
func Steady(source Source, raw bool) *Clock {
	c := &Clock{}
	c.Init(time.Unix(0, 0), time.Microsecond, source, raw)
	return c
}

func (c *Clock) Time() (now time.Time, mono time.Duration) {
	ns, _, e, _ := c.now()
	return c.epoch.Add(time.Duration(ns)), time.Duration(e)
}

// Wall returns the time of the wall clock.
func (c *Clock) Wall() time.Time {
	_, wall := c.both()
	return c.epoch.Add(time.Duration(wall))
}

// Correct sets the time to the wall clock at once. It is for a wall clock
// that was ahead and agrees with another clock now. Without it, no store
// would grant a tick until the wall clock has caught up.
func (c *Clock) Correct() {
	a := &anchor{fresh: int64(SyncEvery)}
	if a.at, a.ns = c.both(); a.ns < 0 {
		a.fresh = 0
	}
	c.anchor.Store(a)
	c.corrections.Add(1)
}

// Sync compares with the wall clock at once, which a reading does every
// SyncEvery.
func (c *Clock) Sync() {
	if !c.Raw {
		c.sync(c.anchor.Load())
	}
}

// Corrections returns a number that grows with each Correct.
func (c *Clock) Corrections() int64 { return c.corrections.Load() }

const (
	// SyncEvery is how often an anchored clock reads the wall clock, and so
	// how late it follows a step forward.
	SyncEvery = 10 * time.Millisecond

	// slewFrom is how far the wall clock may be behind before time slows
	// down. No two readings of clocks are closer together.
	slewFrom = 20 * time.Microsecond
)

// anchor is where a clock compared itself with the wall clock.
type anchor struct {
	at    int64 // elapsed time there
	ns    int64 // since the layout's epoch there
	slow  uint8 // 0: time runs at full speed from there, 1: at half
	fresh int64 // how much later the next comparison is due; 0: at every reading
}

// Init sets the clock to ticks since an epoch. raw means the wall clock
// itself.
func (c *Clock) Init(epoch time.Time, tick time.Duration, source Source, raw bool) {
	c.Source, c.Raw, c.epoch = source, raw, epoch
	c.tickLen = uint64(tick)
	c.magic, c.shift = Reciprocal(c.tickLen)
	c.Base = time.Now()
	if source != nil {
		_, c.baseMono = source()
	}
	c.Correct()
}

// Reciprocal returns the numbers with which n / d = floor(n × magic /
// 2^(64+shift)), exactly for 0 ≤ n < 2^63 and d from 2 up: Granlund &
// Montgomery, "Division by Invariant Integers using Multiplication", 1994,
// with one bit of the dividend to spare.
func Reciprocal(d uint64) (magic uint64, shift uint8) {
	n := bits.Len64(d) - 1
	if d == 1<<n {
		return 1 << 63, uint8(n - 1)
	}
	q, _ := bits.Div64(1<<n, 0, d)
	return q + 1, uint8(n)
}

// Elapsed returns the nanoseconds of monotonic time since init.
func (c *Clock) Elapsed() int64 {
	if c.Source != nil {
		_, mono := c.Source()
		return int64(mono - c.baseMono)
	}
	return int64(time.Since(c.Base))
}

// both returns the elapsed time and the wall clock since the epoch, in ns,
// read together.
func (c *Clock) both() (elapsed, wall int64) {
	if c.Source != nil {
		now, mono := c.Source()
		return int64(mono - c.baseMono), int64(now.Round(0).Sub(c.epoch))
	}
	now := time.Now()
	return int64(now.Sub(c.Base)), int64(now.Round(0).Sub(c.epoch))
}

// Tick returns the current tick, which is negative before the epoch.
func (c *Clock) Tick() int64 {
	tick, _ := c.Read()
	return tick
}

// Read returns the current tick and the elapsed time until which it stays
// so for all readers. That is 0 where it is unknown: for a raw clock or a
// Source.
func (c *Clock) Read() (tick, sure int64) {
	ns, slow, e, due := c.now()
	tick = c.ticks(ns)
	if due == 0 || slow != 0 || c.Source != nil || tick < 0 {
		return tick, 0
	}
	return tick, min(due, e+(tick+1)*int64(c.tickLen)-ns)
}

// SureUntil returns the elapsed time until which a tick surely lasts; 0 if
// not known.
func (c *Clock) SureUntil(tick int64) int64 {
	ns, slow, e, due := c.now()
	if due == 0 || slow != 0 || c.Source != nil || tick >= math.MaxInt64/int64(c.tickLen) {
		return 0
	}
	return min(due, e+(tick+1)*int64(c.tickLen)-ns)
}

// now returns ns since the epoch, their speed (0 full, 1 half), the elapsed
// time of the reading, and when the next comparison with the wall clock is
// due.
func (c *Clock) now() (ns int64, slow uint8, e, due int64) {
	if c.Raw {
		e, ns = c.both()
		return ns, 0, e, 0
	}
	a := c.anchor.Load()
	e = c.Elapsed()
	if e-a.at >= a.fresh {
		return c.sync(a)
	}
	return a.ns + (e-a.at)>>a.slow, a.slow, e, a.at + a.fresh
}

// sync compares with the wall clock, sets a new anchor and returns the
// results of now.
func (c *Clock) sync(a *anchor) (ns int64, slow uint8, e, due int64) {
	e, wall := c.both()
	cur := a.ns + max(e-a.at, 0)>>a.slow
	next := &anchor{at: e, ns: cur, fresh: int64(SyncEvery)}
	switch ahead := cur - wall; {
	case ahead <= 0:
		next.ns = wall
	case ahead > int64(slewFrom):
		next.slow = 1
		next.fresh = min(next.fresh, 2*ahead)
	}
	if next.ns < 0 {
		next.fresh = 0
	}
	// When another goroutine was faster, its anchor is as good.
	c.anchor.CompareAndSwap(a, next)
	return next.ns, next.slow, e, e + next.fresh
}

func (c *Clock) ticks(ns int64) int64 {
	if ns < 0 { // before the epoch; too rare for a fast way
		return -1 - (-1-ns)/int64(c.tickLen)
	}
	hi, _ := bits.Mul64(uint64(ns), c.magic)
	return int64(hi >> c.shift)
}

// Until returns the time to the start of a tick; 0 when it has started.
func (c *Clock) Until(tick int64) time.Duration {
	ns, slow, _, _ := c.now()
	if tick > math.MaxInt64/int64(c.tickLen) {
		return math.MaxInt64
	}
	d := tick*int64(c.tickLen) - ns
	if d <= 0 {
		return 0
	}
	if slow != 0 && d < math.MaxInt64/2 {
		d *= 2
	}
	return time.Duration(d)
}
