package snowfence

import (
	"fmt"
	"math"
	"time"
)

// CheckOptions says which IDs [Scheme.Check] accepts. Nil and the zero value allow all times and
// nodes.
type CheckOptions struct {
	Now   time.Time     // no ID is from a later time; the zero time allows any time
	Ahead time.Duration // how far clocks and leads may be ahead of Now
	Nodes NodeRange     // nodes that were ever used, {0, 1} for node 0 alone; an Until of 0 means up to the last one
}

// Check decodes an ID as Decode does. It returns [ErrInvalidID] for an ID that no generator can
// have made: with a later time, a node that was never used, or a sequence number above the layout's
// last. So it finds forged IDs of encrypted layouts; [Scheme.Odds] says how reliably. It accepts
// numbers below the layout's first: snow-drift uses them after the clock stepped back, and people
// use them by hand.
func (s *Scheme) Check(id ID, o *CheckOptions) (Parts, error) {
	parts, err := s.Decode(id)
	if err != nil {
		return Parts{}, err
	}
	first, end, ticks := s.plausible(o)
	switch l := s.layout; {
	case uint64(parts.Tick) >= ticks:
		return Parts{}, fmt.Errorf("%w: %d would be of %s, which is yet to come",
			ErrInvalidID, int64(id), parts.Time.Format(time.RFC3339))
	case parts.Node < first || parts.Node >= end:
		return Parts{}, fmt.Errorf("%w: %d would be of node %d; used were %d to %d",
			ErrInvalidID, int64(id), parts.Node, first, end-1)
	case parts.Sequence > l.Last:
		return Parts{}, fmt.Errorf("%w: %d would have the sequence number %d; the last one is %d",
			ErrInvalidID, int64(id), parts.Sequence, l.Last)
	}
	return parts, nil
}

// Odds returns the probability that [Scheme.Check] lets a random 64-bit number through, or for FF1
// one of the layout's width. An attacker with n numbers finds about n × Odds that Check accepts;
// few of them are IDs that were made.
func (s *Scheme) Odds(o *CheckOptions) float64 {
	first, end, ticks := s.plausible(o)
	real := float64(ticks) * float64(end-first) * float64(s.layout.Last+1) * math.Exp2(float64(s.rollBits))
	width := 64
	if s.layout.Cipher == FF1 {
		width = s.layout.Width()
		real *= float64(len(s.perms))
	}
	return real / math.Exp2(float64(width))
}

// plausible returns the nodes and the number of ticks that o allows.
func (s *Scheme) plausible(o *CheckOptions) (first, end int64, ticks uint64) {
	if o == nil {
		o = &CheckOptions{}
	}
	ticks = uint64(s.MaxTick()) + 1
	if !o.Now.IsZero() {
		ticks = min(ticks, uint64(max(s.layout.TickOf(o.Now.Add(o.Ahead))+1, 0)))
	}
	if first, end = o.Nodes.From, o.Nodes.Until; end == 0 {
		end = s.Nodes()
	}
	return first, end, ticks
}
