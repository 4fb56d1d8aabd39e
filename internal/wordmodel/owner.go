package wordmodel

// beginAsk starts a call that needs another grant. It looked at a track, perhaps
// long ago.
func (m *model) beginAsk(s *state, i int) bool {
	p := &s.procs[i]
	if s.mu != 0 {
		return false
	}
	p.calls--
	if s.cur == closedTrack {
		p.calls = 0
		m.end(s, i)
		return true
	}
	p.pc = askLock
	if m.mutant == staleAskReleases || m.mutant == asksAfterClose {
		p.lt = s.cur
		return true
	}
	return m.ask(s, i) // which track it looked at makes no difference: no step
}

// ask is Generator.ask, fetch and install, on the flight's own goroutine.
func (m *model) ask(s *state, i int) bool {
	p := &s.procs[i]
	if s.mu != 0 && s.mu != int8(i)+1 &&
		(p.pc == askLock || p.pc == fetchRevoked || p.pc == installLock || p.pc == landFlight) {
		return false
	}
	switch p.pc {
	case askLock:
		if s.cur == closedTrack && m.mutant != asksAfterClose || s.flight != 0 {
			m.landed(s, i)
			return true
		}
		s.flight = 1
		p.pc = fetchRevoked
	case fetchRevoked:
		p.rev = s.revoked
		p.pc = fetchGrant
	case fetchGrant:
		m.grant(s, i)
	case installLock:
		if s.revoked != p.rev && m.mutant != trustsOldAnswer {
			p.pc = fetchRevoked
			return true
		}
		s.mu = int8(i) + 1
		p.pc = installTrack
	case installTrack:
		m.install(s, i)
	case installSealed:
		h := &s.holds[p.hold]
		switch {
		case h.lock != 0:
			return false
		case h.done != 0 || m.answers[p.op].until <= h.from+h.until && m.mutant != lowersBound:
			m.goSeal(p, p.hold, installNew) // nothing to raise
		default:
			p.pc = raiseUntil
		}
	case raiseUntil:
		h := &s.holds[p.hold]
		h.until = m.answers[p.op].until - h.from
		p.pc = raiseEnd
	case raiseEnd:
		h := &s.holds[p.hold]
		h.end = h.until * span
		s.mu = 0
		p.pc = landFlight
	case installFirst:
		h := &s.holds[p.hold]
		p.used, p.pc = h.from+(*s.word(p.t)+span-1)/span, installNew
	case installNew:
		m.replace(s, i)
	case landFlight:
		if a := m.answers; m.mutant == raisesEarly && p.op >= 0 && a[p.op].kind == renewed {
			s.holds[p.hold].acked = max(s.holds[p.hold].acked, a[p.op].until)
		}
		s.flight, s.mu = 0, 0
		m.landed(s, i)
	}
	return true
}

func (m *model) landed(s *state, i int) {
	s.procs[i].lt = 0
	m.end(s, i)
}

// grant is the answer of the fence, durable before anybody hears of it.
func (m *model) grant(s *state, i int) {
	p := &s.procs[i]
	if s.closed != 0 {
		m.fail(s, fenceAfterClose)
	}
	if p.op = -1; int(s.answers) == len(m.answers) {
		p.pc = landFlight
		return
	}
	p.op = s.answers
	s.answers++
	a := m.answers[p.op]
	if s.lost != 0 && a.kind != other {
		p.op, p.pc = -1, landFlight // an error: nothing is held
		return
	}
	p.hold = s.newest()
	switch {
	case a.kind == other:
		s.lost = 0
	case a.kind == renewed && m.mutant != raisesEarly:
		h := &s.holds[p.hold]
		h.acked = max(h.acked, a.until)
	}
	p.pc = installLock
}

func (s *state) newest() int8 {
	n := int8(maxHolds - 1)
	for s.holds[n].live == 0 {
		n--
	}
	return n
}

// install decides what to do with the answer.
func (m *model) install(s *state, i int) {
	p := &s.procs[i]
	a := m.answers[p.op]
	if s.cur == closedTrack {
		// A grant of another rectangle goes back unused. Close gives back what is
		// in use.
		if m.mutant == staleAskReleases && p.lt/maxRolls != p.hold {
			m.bar(s, &s.holds[p.hold], s.holds[p.hold].from)
		}
		p.pc = landFlight
		return
	}
	p.t, p.hold = s.cur, s.cur/maxRolls
	switch {
	case m.mutant == secondWord:
		p.pc = installNew
	case a.kind == renewed:
		p.pc = installSealed
	case m.mutant == publishesFirst || m.mutant == sealsNothing:
		p.pc = installFirst
	default:
		m.goSeal(p, p.hold, installNew)
	}
}

// replace publishes a new hold. The old one ended at p.used.
func (m *model) replace(s *state, i int) {
	p := &s.procs[i]
	old, a, n := &s.holds[p.hold], m.answers[p.op], s.newest()+1
	if s.cur != p.t && s.cur != closedTrack {
		p.t = s.cur // another rollback value of the old hold
		return
	}
	if s.cur == closedTrack && m.mutant != storesPointer || n == maxHolds {
		p.pc = landFlight
		return
	}
	node, from, until := a.node, a.from, a.until
	if a.kind != other {
		node, from, until = old.node, old.from, a.until
	}
	start := from
	if m.rolls == 1 || node == old.node {
		start = max(start, p.used)
	}
	acked := old.acked
	s.holds[n] = m.newHold(node, from, until, start)
	if a.kind != other {
		s.holds[n].acked = max(acked, until) // a lower end changes nothing for what was made
	}
	if a.kind != other {
		s.holds[n].bar = old.bar
	}
	s.cur = trackOf(n, 0)
	if p.pc = landFlight; m.mutant == publishesFirst {
		m.goSeal(p, p.hold, landFlight)
	}
}
