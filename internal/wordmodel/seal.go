package wordmodel

// goSeal lets an actor seal a hold and go on at ret, with the first unused tick
// in p.used.
func (m *model) goSeal(p *proc, hold int8, ret pc) {
	p.hold, p.ret, p.pc = hold, int8(ret), sealLock
}

// seal is hold.seal.
func (m *model) seal(s *state, i int) bool {
	p := &s.procs[i]
	h := &s.holds[p.hold]
	switch p.pc {
	case sealLock:
		switch {
		case h.lock != 0:
			return false
		case h.done != 0:
			p.used, p.pc = h.used, pc(p.ret)
			return true
		}
		h.lock = 1
		if p.used, p.pc = h.start, sealSwap0; m.mutant == forgetsStart {
			p.used = h.from
		}
		if m.mutant == readsBeforeSwap {
			p.pc = sealRead
		}
	case sealRead:
		p.w, p.pc = h.word[0], sealSwap0
	case sealSwap0:
		end := h.word[0]
		if m.mutant == readsBeforeSwap {
			end = p.w
		}
		h.word[0] = m.sealed()
		m.ended(p, h, end)
		if p.pc = sealLimit; m.rolls > 1 {
			p.pc = sealSwap1
		}
	case sealSwap1:
		if end := h.word[1]; m.mutant != oneRollback {
			m.ended(p, h, end)
		}
		h.word[1] = m.sealed()
		p.pc = sealLimit
	case sealLimit:
		h.limit = [maxRolls]int8{}
		h.coarse = [maxRolls]int8{parked, parked}
		p.pc = sealUsed
	case sealUsed:
		h.used = p.used
		h.done, h.lock = 1, 0
		p.used, p.pc = h.used, pc(p.ret)
	}
	return true
}

// ended notes where a word stood when it was sealed.
func (m *model) ended(p *proc, h *hold, end int8) {
	if end == 0 {
		return
	}
	used := h.from + (end-1)/span + 1
	if m.mutant == roundsDown {
		used--
	}
	p.used = max(p.used, min(used, h.from+h.until))
}

func (m *model) sealed() int8 {
	switch m.mutant {
	case sealsLow:
		return 3
	case sealsHigh:
		return wordSize - 1
	}
	return sealed
}

// beginClose starts Generator.Close: it takes the pointer, and seals before
// anybody can raise a bound.
func (m *model) beginClose(s *state, i int) bool {
	p := &s.procs[i]
	outside := m.mutant == closesOutside || m.mutant == storesPointer || m.mutant == sealsBeforeClose
	if !outside && s.mu != 0 {
		return false
	}
	p.calls--
	hold := s.cur / maxRolls
	switch {
	case m.mutant == sealsBeforeClose:
		m.goSeal(p, hold, closeSwap)
		return true
	case !outside:
		s.mu = int8(i) + 1
	}
	s.cur, s.last = closedTrack, hold
	m.goSeal(p, hold, closeUnlock)
	return true
}

// beginRevoke is the start of Generator.revoke.
func (m *model) beginRevoke(s *state, i int) bool {
	if s.mu != 0 {
		return false
	}
	p := &s.procs[i]
	p.calls--
	s.mu, s.lost = int8(i)+1, 1
	s.revoked++
	p.pc = revokeTrack
	return true
}

// finish is the rest of Close and revoke.
func (m *model) finish(s *state, i int) bool {
	p := &s.procs[i]
	switch p.pc {
	case closeSwap:
		s.cur, s.last = closedTrack, p.hold
		p.pc = closeUnlock
	case closeUnlock:
		if s.mu != 0 && s.mu != int8(i)+1 {
			return false
		}
		s.mu = 0
		p.op, p.pc = s.flight, closeFlight
	case closeFlight:
		if p.op != 0 && s.flight != 0 {
			return false
		}
		p.pc = closeRelease
	case closeRelease:
		h := &s.holds[p.hold]
		m.bar(s, h, p.used)
		s.closed, s.succN, s.succPos = 1, h.node, p.used*span
		if m.mutant == forgets {
			s.succPos = h.from * span
		}
		m.end(s, i)

	case revokeTrack:
		hold := s.last // of a closed generator, the hold that Close took
		if s.cur != closedTrack {
			hold = s.cur / maxRolls
		} else if m.mutant == revokesBlind {
			p.hold, p.pc = hold, revokeDone
			return true
		}
		m.goSeal(p, hold, revokeDone)
	case revokeDone:
		s.mu = 0
		m.bar(s, &s.holds[p.hold], p.used)
		m.end(s, i)
	}
	return true
}
