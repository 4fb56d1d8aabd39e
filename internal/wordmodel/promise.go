package wordmodel

// take notes that actor i took k positions from pos. All become IDs unless the
// actor finds otherwise: the order of takes is the order of IDs.
func (m *model) take(s *state, t, pos, k int8) {
	h := s.holdOf(t)
	if pos >= h.end {
		return // beyond the grant: whoever took it must throw it away
	}
	if s.closed != 0 {
		m.fail(s, afterClose)
	}
	abs := h.from*span + pos
	if m.rolls == 1 && abs <= s.top { // with rollback values IDs fall by design
		m.fail(s, unordered)
	}
	s.top = max(s.top, abs+k-1)
}

// make notes that actor i makes the IDs of k positions from pos. The real code
// makes them some time after the take; one step leaves out nothing, because the
// checks do not depend on when.
func (m *model) make(s *state, i int, t, pos, k int8) {
	p, h, roll := &s.procs[i], s.holdOf(t), t%maxRolls
	for ; k > 0; k, pos = k-1, pos+1 {
		abs := h.from*span + pos
		tick := abs / span
		if pos < 0 || tick < h.from || tick >= h.acked || abs > 15 {
			m.fail(s, outsideGrant)
			return
		}
		if tick >= h.bar {
			m.fail(s, afterRelease)
		}
		bit := uint16(1) << abs
		if (s.made[h.node][roll]|s.succ[h.node][roll])&bit != 0 {
			m.fail(s, duplicate)
		}
		s.made[h.node][roll] |= bit
		if tick > s.maxClock+m.lead {
			m.fail(s, early)
		}
		if !m.coarse && m.backs == 0 && tick < h.from+p.tick {
			m.fail(s, late)
		}
	}
}

// bar notes what the fence was told: no ID of h has or will have a tick of used
// or later.
func (m *model) bar(s *state, h *hold, used int8) {
	h.bar = min(h.bar, used)
	for _, made := range s.made[h.node] {
		if made>>(max(used, 0)*span) != 0 {
			m.fail(s, afterRelease)
		}
	}
}

// check looks at a state as a whole.
func (m *model) check(s state, last bool) string {
	if s.bad != none {
		return s.bad.String()
	}
	if last {
		for i := range m.actors {
			if p := &s.procs[i]; m.actors[i].kind != keeper && (p.pc != idle || p.calls > 0) {
				return stuck.String()
			}
		}
	}
	if m.coarse && s.ticking == 0 && s.cur != closedTrack && m.ignore&(1<<staleLimit) == 0 {
		quiet := true
		for i := range m.actors {
			quiet = quiet && !s.procs[i].pc.publishes()
		}
		if quiet && *s.word(s.cur) < *s.limit(s.cur) {
			return staleLimit.String()
		}
	}
	return ""
}
