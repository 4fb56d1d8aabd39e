package snowfence

import "time"

// Capacity is what a layout holds.
type Capacity struct {
	Ticks            uint64  // number of ticks in its life
	Nodes            uint64  // number of nodes
	PerTick          int64   // usable sequence numbers: IDs of one node in one tick
	PerNodePerSecond float64 // IDs one node can make in a second, sustained
	PerSecond        float64 // IDs all nodes together can make in a second, sustained
}

// Capacity returns what the layout holds. The layout must be valid.
func (l Layout) Capacity() Capacity {
	l = l.norm()
	c := Capacity{
		Ticks:   1 << l.Bits(FieldTime),
		Nodes:   1 << l.Bits(FieldNode),
		PerTick: l.Last - l.First + 1,
	}
	c.PerNodePerSecond = float64(c.PerTick) / l.Tick.Seconds()
	c.PerSecond = c.PerNodePerSecond * float64(c.Nodes)
	return c
}

// EndOfLife returns the first instant for which the layout has no tick any more, at most
// the end of the year 9999. A generator returns [ErrLifetime] from then on.
func (l Layout) EndOfLife() time.Time {
	return l.norm().timeOf(1 << l.Bits(FieldTime))
}

// NegativeFrom returns the instant from which IDs have the sign bit set and so are
// negative as signed numbers. It is false for layouts whose IDs never are: those of at
// most 63 bits. Where all 64 bits are encrypted, half of the IDs are negative from the
// epoch on.
func (l Layout) NegativeFrom() (time.Time, bool) {
	if l.Cipher == SPARX || l.Cipher == FF1 && l.Width() == 64 {
		return l.norm().Epoch, true
	}
	if l.Width() < 64 {
		return time.Time{}, false
	}
	return l.norm().timeOf(1 << (l.Bits(FieldTime) - 1)), true
}

// JSSafeUntil returns the instant from which IDs can pass 2^53−1, the largest integer of
// JavaScript and of JSON readers that use doubles. It is false when they never do.
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
