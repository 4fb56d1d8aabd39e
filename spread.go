package snowfence

import (
	"fmt"
	"math/bits"
)

// spreader draws where ticks begin.
type spreader struct {
	size uint64 // slots to draw from; 0 and 1: each tick begins at its first
	seed uint64
}

// slotOf returns the slot at which a tick begins. It is the same each time:
// however many callers find a tick new, it is begun once.
func (s spreader) slotOf(tick int64) uint64 {
	x := s.seed + uint64(tick)*0x9e3779b97f4a7c15 // SplitMix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	hi, _ := bits.Mul64(x^x>>31, s.size)
	return hi
}

// beginTick returns the position at which the tick of position now begins,
// if nothing of it was taken. A tick that IDs ran into ahead of the clock
// goes on where they are.
func (t *track) beginTick(s spreader, now uint64) uint64 {
	if s.size = min(s.size, t.hold.seqs); s.size < 2 { // a later grant may have a shorter slice
		return now
	}
	return now + s.slotOf(t.from+int64(now/t.span))
}

// CheckSpread returns an error that says why a [Config.Spread] has no
// effect in a layout, or nil.
func (l Layout) CheckSpread(spread int64) error {
	low, why, most := "", "", l.Last-l.First+1
	if n := len(l.Fields); n > 0 {
		low = l.Fields[n-1].Name
	}
	switch {
	case spread < 0:
		why = "give 0 or more sequence numbers"
	case spread == 0:
		return nil
	case l.Cipher != Plain:
		why = "encrypted IDs are even in all bits already: leave it out"
	case low != FieldSequence:
		why = fmt.Sprintf("the low bits of the layout %s are %s, and the remainder of an ID follows them: "+
			"take a layout that ends with the sequence, or shard by a hash of the ID", l, low)
	case spread > most:
		why = tooWide(most)
	default:
		return nil
	}
	return fmt.Errorf("a spread of %d: %s", spread, why)
}

// checkGrant refuses a grant with fewer sequence numbers than the spread.
// gr is in normal form.
func checkGrant(gr Grant, spread int64) error {
	if n := gr.LastSeq - gr.FirstSeq + 1; spread > n {
		return fmt.Errorf("snowfence: a spread of %d: %s", spread, tooWide(n))
	}
	return nil
}

func tooWide(most int64) string {
	return fmt.Sprintf("a tick has %d sequence numbers here: take at most those, or shard by a hash of the ID", most)
}
