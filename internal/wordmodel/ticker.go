package wordmodel

// keepTime is Generator.keepTime. Between rounds it keeps the word it left in
// lpos, and parks when a round sees the same. calls is how many rounds it may
// make.
func (m *model) keepTime(s *state, i int) bool {
	p := &s.procs[i]
	h := s.holdOf(p.t)
	switch p.pc {
	case waitTicking:
		if s.ticking == 0 || p.calls == 0 {
			return false
		}
		p.calls--
		if s.cur == closedTrack {
			p.calls = 0
			m.end(s, i)
			return true
		}
		p.t, p.pc = s.cur, tickClock
	case tickClock:
		p.tick = s.clock - h.from
		p.pc = tickWord
	case tickWord:
		p.w = *s.word(p.t)
		if p.pc = tickEnd; !m.raises() {
			m.window(p, h.end)
			m.moved(s, i)
		}
		if p.lend == 1 && p.w == p.lpos {
			p.pc = parkTicking
		}
	case tickEnd:
		m.window(p, h.end)
		m.moved(s, i)
	case tickCAS:
		w := s.word(p.t)
		switch {
		case m.mutant == tickerStores:
			*w = p.now
			p.w = p.now
		case *w == p.w:
			*w = m.beginOf(p.now)
			p.w = *w
		default:
			p.w = *w
		}
		m.moved(s, i)
	case pubCoarse, pubLimit, pubTicking:
		if m.publish(s, i) {
			m.round(s, i)
		}

	case parkTicking:
		s.ticking = 0
		if p.pc = parkTrack; m.mutant == parksOld {
			p.pc = parkHalt
		}
	case parkTrack:
		// Read after ticking was set: a later publish on another track starts a
		// new ticker.
		if s.cur == closedTrack {
			m.parked(s, i)
			return true
		}
		p.t, p.pc = s.cur, parkHalt
	case parkHalt:
		*s.coarse(p.t), *s.limit(p.t) = parked, 0
		m.parked(s, i)
	}
	return true
}

// moved goes on once the word is where the tick begins, or above.
func (m *model) moved(s *state, i int) {
	p := &s.procs[i]
	switch {
	case p.w <= p.now && p.w < m.beginOf(p.now):
		p.pc = tickCAS
	case p.w < sealed:
		p.pc = pubCoarse
	default:
		m.round(s, i)
	}
}

// round ends a round.
func (m *model) round(s *state, i int) {
	p := &s.procs[i]
	p.lpos, p.lend = p.w, 1
	m.end(s, i)
}

func (m *model) parked(s *state, i int) {
	p := &s.procs[i]
	p.lpos, p.lend = 0, 0
	m.end(s, i)
}
