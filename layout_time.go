package snowfence

import (
	"math"
	"math/bits"
	"time"
)

// farFuture is the latest time: RFC 3339 and most databases write no later year.
func farFuture() time.Time { return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) }

// TimeOf returns the start of a tick, at most the end of the year 9999. Negative
// ticks lie before the epoch.
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

// TickOf returns the tick that holds t, negative before the epoch. The layout may
// have too few bits for it.
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

// TickFrom returns the first tick that begins at t or later, negative before the epoch.
// The layout may have too few bits for it.
func (l Layout) TickFrom(t time.Time) int64 {
	tick := l.TickOf(t)
	if tick < math.MaxInt64 && l.TimeOf(tick).Before(t) {
		tick++
	}
	return tick
}
