package snowfence

import (
	"math"
	"math/bits"
	"time"
)

// Capacity is the size of a layout.
type Capacity struct {
	Nodes            uint64  // number of nodes
	PerTick          int64   // IDs of one node in one tick: usable sequence numbers × scatter values
	PerNodePerSecond float64 // IDs one node can make in a second, sustained
	PerSecond        float64 // IDs all nodes together can make in a second, sustained
}

// Capacity returns the size of the layout. The layout must be valid.
func (l Layout) Capacity() Capacity {
	l = l.norm()
	c := Capacity{Nodes: 1 << l.Bits(FieldNode), PerTick: (l.Last - l.First + 1) << l.Bits(FieldScatter)}
	c.PerNodePerSecond = float64(c.PerTick) / l.Tick.Seconds()
	c.PerSecond = c.PerNodePerSecond * float64(c.Nodes)
	return c
}

// EndOfLife returns the first instant without a tick.
// It is at most the end of the year 9999.
// From then on, generators return [ErrLifetime].
func (l Layout) EndOfLife() time.Time {
	return l.norm().timeOf(1 << l.Bits(FieldTime))
}

// NegativeFrom returns the instant from which IDs are negative as signed
// numbers, and false if they never are. If all 64 bits are encrypted, or
// the time is not the highest field of 64, some are negative from the epoch
// on.
func (l Layout) NegativeFrom() (time.Time, bool) {
	if l.Cipher == SPARX || l.Width() == 64 && (l.Cipher == FF1 || l.aboveTime() > 0) {
		return l.norm().Epoch, true
	}
	if l.Width() < 64 {
		return time.Time{}, false
	}
	return l.norm().timeOf(1 << (l.Bits(FieldTime) - 1)), true
}

// JSSafeUntil returns the instant from which IDs can pass 2^53−1, the
// largest integer of JavaScript, and false if they never do.
func (l Layout) JSSafeUntil() (time.Time, bool) {
	below := l.Width() - l.Bits(FieldTime)
	if l.Width() <= 53 && l.Cipher != SPARX {
		return time.Time{}, false
	}
	if below >= 53 || l.Cipher != Plain || l.aboveTime() > 0 {
		return l.norm().Epoch, true
	}
	return l.norm().timeOf(1 << (53 - below)), true
}

// farFuture is the latest time: RFC 3339 and most databases write no later
// year.
func farFuture() time.Time { return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) }

// TimeOf returns the start of a tick, at most the end of the year 9999.
// Negative ticks lie before the epoch.
func (l Layout) TimeOf(tick int64) time.Time {
	l = l.norm()
	if tick < 0 {
		if tick < math.MinInt64/int64(l.Tick)+1 {
			return time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		return l.Epoch.Add(time.Duration(tick) * l.Tick)
	}
	return l.timeOf(uint64(tick))
}

func (l Layout) timeOf(tick uint64) time.Time {
	hi, lo := bits.Mul64(tick, uint64(l.Tick))
	if hi >= uint64(time.Second) {
		return farFuture()
	}
	sec, nsec := bits.Div64(hi, lo, uint64(time.Second))
	if sec > 1<<40 {
		return farFuture()
	}
	t := time.Unix(l.Epoch.Unix()+int64(sec), int64(l.Epoch.Nanosecond())+int64(nsec)).UTC()
	if t.After(farFuture()) {
		return farFuture()
	}
	return t
}

// TickOf returns the tick that holds t, negative before the epoch. The
// layout may have too few bits for it.
func (l Layout) TickOf(t time.Time) int64 {
	l = l.norm()
	sec := t.Unix() - l.Epoch.Unix()
	nsec := int64(t.Nanosecond()) - int64(l.Epoch.Nanosecond())
	if nsec < 0 {
		sec, nsec = sec-1, nsec+int64(time.Second)
	}
	tick := uint64(l.Tick)
	if sec < 0 {
		hi, lo := bits.Mul64(uint64(-sec), uint64(time.Second))
		lo, borrow := bits.Sub64(lo, uint64(nsec), 0)
		if hi -= borrow; hi >= tick {
			return math.MinInt64
		}
		q, rest := bits.Div64(hi, lo, tick)
		if rest > 0 {
			q++ // down, away from zero
		}
		return -int64(min(q, math.MaxInt64))
	}
	hi, lo := bits.Mul64(uint64(sec), uint64(time.Second))
	lo, carry := bits.Add64(lo, uint64(nsec), 0)
	hi += carry
	if hi >= tick {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, tick)
	return int64(min(q, math.MaxInt64))
}

// TickFrom returns the first tick that begins at t or later, negative
// before the epoch. The layout may have too few bits for it.
func (l Layout) TickFrom(t time.Time) int64 {
	tick := l.TickOf(t)
	if tick < math.MaxInt64 && l.TimeOf(tick).Before(t) {
		tick++
	}
	return tick
}
