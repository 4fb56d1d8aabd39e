package sequence

// rangesLeft is how many ranges the remaining numbers make at least:
// otherwise the first of two programs would take all of a short sequence.
const rangesLeft = 64

// rangeSize returns how many ordinals the next range has. mu is held.
func (s *Sequence) rangeSize() int64 {
	k := &s.lastState
	s.size = min(max(s.size, k.MinRange), k.MaxRange)
	return min(s.size, max(1, (k.course.count-k.counter.From)/rangesLeft))
}

// noteFirstOfRange is called when the first number of a range is taken.
// After a range that did not last long, larger ones follow, for fewer
// writes. After one that lasted long, smaller ones follow, because a rest
// may be lost. mu is held.
func (s *Sequence) noteFirstOfRange() {
	now := s.world.Now()
	switch lasted := now.Sub(s.began); {
	case lasted < s.short:
		s.size *= 2
	case lasted > s.long:
		s.size /= 2
	}
	s.began = now
}
