package snowfence

import "time"

// Capacity is the size of a layout.
type Capacity struct {
	Nodes            uint64  // number of nodes
	PerTick          int64   // usable sequence numbers: IDs of one node in one tick
	PerNodePerSecond float64 // IDs one node can make in a second, sustained
	PerSecond        float64 // IDs all nodes together can make in a second, sustained
}

// Capacity returns the size of the layout. The layout must be valid.
func (l Layout) Capacity() Capacity {
	l = l.norm()
	c := Capacity{
		Nodes:   1 << l.Bits(FieldNode),
		PerTick: l.Last - l.First + 1,
	}
	c.PerNodePerSecond = float64(c.PerTick) / l.Tick.Seconds()
	c.PerSecond = c.PerNodePerSecond * float64(c.Nodes)
	return c
}

// EndOfLife returns the first instant without a tick, at most the end of the year
// 9999. Generators return [ErrLifetime] from then on.
func (l Layout) EndOfLife() time.Time {
	return l.norm().timeOf(1 << l.Bits(FieldTime))
}

// NegativeFrom returns the instant from which IDs are negative as signed numbers,
// and false if they never are. If all 64 bits are encrypted, half are negative
// from the epoch on.
func (l Layout) NegativeFrom() (time.Time, bool) {
	if l.Cipher == SPARX || l.Cipher == FF1 && l.Width() == 64 {
		return l.norm().Epoch, true
	}
	if l.Width() < 64 {
		return time.Time{}, false
	}
	return l.norm().timeOf(1 << (l.Bits(FieldTime) - 1)), true
}

// JSSafeUntil returns the instant from which IDs can pass 2^53−1, the largest
// integer of JavaScript, and false if they never do.
func (l Layout) JSSafeUntil() (time.Time, bool) {
	below := l.Width() - l.Bits(FieldTime)
	if l.Width() <= 53 && l.Cipher != SPARX {
		return time.Time{}, false
	}
	if below >= 53 || l.Cipher != Plain {
		return l.norm().Epoch, true
	}
	return l.norm().timeOf(1 << (53 - below)), true
}
