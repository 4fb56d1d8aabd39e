package snowfence

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// TimeSource reads the wall clock, and a reading that only ever grows and is not stepped (monotonic time since any fixed start).
// A nil TimeSource means the system's clocks, and is the only one with a fast path. Others are for tests and simulations.
// It must be safe for concurrent use.
type TimeSource func() (wall time.Time, mono time.Duration)

const (
	// syncEvery is how often an anchored clock looks at the wall clock: how late a forward step or the end of a suspend is followed.
	syncEvery = 10 * time.Millisecond

	// slewFrom is how far the wall clock may be behind before time slows down. Two readings of two clocks are never closer than this.
	slewFrom = 20 * time.Microsecond
)

// clock tells the tick of a layout. It is anchored: it takes the wall clock once, and then adds monotonic time, which costs one clock
// read where the wall clock costs two and can step. Every syncEvery it compares: it follows the wall clock forward at once, and when the wall
// clock is behind, time goes on at half speed until that has caught up. So it never goes back, and comes back to the truth.
//
// A raw clock is the wall clock itself with its steps back, for layouts with rollback bits.
type clock struct {
	source TimeSource
	raw    bool
	epoch  time.Time

	// A tick number is ns / tickLen, as a multiplication: floor(ns × magic / 2^(64+shift)), exact for 0 ≤ ns < 2^63
	// (Granlund & Montgomery, "Division by Invariant Integers using Multiplication", 1994, with one bit of the dividend to spare).
	tickLen uint64
	magic   uint64
	shift   uint8

	anchor atomic.Pointer[anchor]
}

// anchor is a point at which a clock compared itself with the wall clock.
type anchor struct {
	base  time.Time     // the system's reading there, with its monotonic part; unused with a TimeSource
	mono  time.Duration // a TimeSource's reading there
	ns    int64         // since the layout's epoch
	slow  uint8         // 0: full speed, 1: half
	fresh uint64        // elapsed nanoseconds up to which the anchor serves
}

func (c *clock) init(l Layout, source TimeSource, raw bool) {
	c.source, c.raw, c.epoch = source, raw, l.Epoch
	c.tickLen = uint64(l.Tick)
	n := bits.Len64(c.tickLen) - 1
	if c.tickLen == 1<<n {
		c.magic, c.shift = 1<<63, uint8(n-1)
	} else {
		q, _ := bits.Div64(1<<n, 0, c.tickLen)
		c.magic, c.shift = q+1, uint8(n)
	}
	a := &anchor{}
	var wall time.Time
	wall, a.mono = c.read()
	a.base, a.ns = wall, c.sinceEpoch(wall)
	if a.ns >= 0 && !raw {
		a.fresh = uint64(syncEvery)
	}
	c.anchor.Store(a)
}

// read returns both clocks. With the system's, the wall time carries the monotonic reading inside it.
func (c *clock) read() (time.Time, time.Duration) {
	if c.source != nil {
		wall, mono := c.source()
		return wall.Round(0), mono
	}
	return time.Now(), 0
}

func (c *clock) sinceEpoch(wall time.Time) int64 { return int64(wall.Sub(c.epoch)) }

// tick returns the current tick, and −1 before the epoch.
func (c *clock) tick() int64 {
	a := c.anchor.Load()
	var e uint64
	if c.source == nil {
		e = uint64(time.Since(a.base))
	} else {
		_, mono := c.source()
		e = uint64(mono - a.mono)
	}
	if e >= a.fresh {
		return c.sync()
	}
	hi, _ := bits.Mul64(uint64(a.ns)+e>>a.slow, c.magic)
	return int64(hi >> c.shift)
}

// now returns nanoseconds since the epoch, as tick sees them, and how fast they run (0 full, 1 half speed).
func (c *clock) now() (ns int64, slow uint8) {
	c.tick() // brings the anchor up to date
	a := c.anchor.Load()
	wall, mono := c.read()
	if c.raw {
		return c.sinceEpoch(wall), 0
	}
	return a.ns + a.elapsed(c, wall, mono)>>a.slow, a.slow
}

func (a *anchor) elapsed(c *clock, wall time.Time, mono time.Duration) int64 {
	if c.source != nil {
		return int64(mono - a.mono)
	}
	return int64(wall.Sub(a.base)) // both carry monotonic readings
}

// sync compares with the wall clock and sets a new anchor.
func (c *clock) sync() int64 {
	a := c.anchor.Load()
	wall, mono := c.read()
	w := c.sinceEpoch(wall)
	if c.raw {
		return c.ticks(w)
	}
	cur := a.ns + max(a.elapsed(c, wall, mono), 0)>>a.slow
	next := &anchor{base: wall, mono: mono, ns: cur, fresh: uint64(syncEvery)}
	switch ahead := cur - w; {
	case ahead <= 0:
		next.ns = w
	case ahead > int64(slewFrom):
		next.slow = 1
		next.fresh = min(next.fresh, max(2*uint64(ahead), uint64(slewFrom)))
	}
	if next.ns < 0 {
		next.fresh = 0 // before the epoch: come here every time
	}
	// When another goroutine was faster, its anchor is as good.
	c.anchor.CompareAndSwap(a, next)
	return c.ticks(next.ns)
}

func (c *clock) ticks(ns int64) int64 {
	if ns < 0 {
		return -1
	}
	hi, _ := bits.Mul64(uint64(ns), c.magic)
	return int64(hi >> c.shift)
}

// until returns how long it takes until the given tick starts; 0 when it has started.
func (c *clock) until(tick int64) time.Duration {
	ns, slow := c.now()
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
