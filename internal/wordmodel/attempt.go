package wordmodel

// beginAttempt is Generator.attempt up to the load of the pointer.
func (m *model) beginAttempt(s *state, i int) {
	p := &s.procs[i]
	if s.cur == closedTrack {
		p.calls = 0
		m.end(s, i) // ErrClosed
		return
	}
	p.t, p.pc = s.cur, takeClock
}

func (m *model) attempt(s *state, i int) {
	p := &s.procs[i]
	h := s.holdOf(p.t)
	switch p.pc {
	case takeTrack:
		m.beginAttempt(s, i)
	case takeClock:
		p.tick = s.clock - h.from
		if p.pc = takeEnd; !m.raises() {
			m.takeEnd(s, i) // the end is what it is for ever: no step
		}
	case takeEnd:
		m.takeEnd(s, i)
	case rollWord:
		w := *s.word(p.t)
		if p.pc = takeWord; w < sealed && p.tick >= 0 && w >= p.bound+span {
			p.pc = rollOther
		}
	case rollOther:
		if p.pc = takeWord; *s.word(p.t ^ 1) <= p.now || m.mutant == rollWraps {
			p.pc = rollSwitch
		}
	case rollSwitch:
		if s.cur == p.t {
			s.cur = p.t ^ 1
			if m.mutant == rollWraps {
				*s.word(s.cur) = p.now
			}
		}
		p.pc = takeTrack

	case takeWord:
		p.w = *s.word(p.t)
		switch {
		case p.w >= p.bound || p.now >= p.bound:
			m.end(s, i) // an obstacle
		case p.w < p.now:
			p.pc = takeCAS
		default:
			p.pc = takeAdd
		}
	case takeCAS:
		w, k := s.word(p.t), min(p.n, p.bound-p.now)
		if *w != p.w {
			p.w, p.pc = 0, takeWord
			return
		}
		*w = p.now + k
		m.took(s, i, p.now, k)
	case takeAdd:
		k := min(p.n, p.bound-p.w)
		pos := s.add(p.t, k) - k
		if pos >= p.bound {
			if m.mutant == subtracts {
				s.add(p.t, -k)
			}
			m.end(s, i)
			return
		}
		m.took(s, i, pos, min(k, p.bound-pos))
	case pubCoarse, pubLimit, pubTicking:
		if m.publish(s, i) {
			m.done(s, i)
		}
	}
}

func (m *model) takeEnd(s *state, i int) {
	p := &s.procs[i]
	m.window(p, s.holdOf(p.t).end)
	if p.pc = takeWord; m.rolls > 1 {
		p.pc = rollWord
	}
}

// took is the end of the step that took positions: the IDs are made, or go into the handle's block.
func (m *model) took(s *state, i int, pos, k int8) {
	p := &s.procs[i]
	m.take(s, p.t, pos, k)
	if m.actors[i].kind == handle {
		p.lt, p.lpos, p.lend = p.t, pos, pos+k
		m.handOut(s, i)
	} else {
		m.make(s, i, p.t, pos, k)
	}
	p.n -= k
	p.w, p.now, p.pc = pos+k, 0, pubCoarse
	if !m.coarse {
		m.done(s, i)
	}
}

// done ends an attempt. Fill makes more of them.
func (m *model) done(s *state, i int) {
	n := s.procs[i].n
	m.end(s, i)
	if p := &s.procs[i]; n > 0 && m.actors[i].kind == fill {
		p.n, p.pc = n, takeTrack
	}
}

// window is track.window.
func (m *model) window(p *proc, end int8) {
	until := end / span
	p.now = min(max(p.tick, 0), until) * span
	p.bound = min(max(p.tick+m.lead+1, 0), until) * span
}

// publish is Generator.publish; p.w is the word after what the caller took. It reports the end.
func (m *model) publish(s *state, i int) bool {
	p := &s.procs[i]
	t := p.t
	if m.mutant == tickerWrites && m.actors[i].kind == keeper && s.cur != closedTrack {
		t = s.cur
	}
	switch p.pc {
	case pubCoarse:
		*s.coarse(t) = p.tick
		p.tick, p.pc = 0, pubLimit
		if !m.handles() {
			m.publishLimit(s, i, t) // nobody reads the tick: no step
		}
	case pubLimit:
		m.publishLimit(s, i, t)
	case pubTicking:
		s.ticking = 1
		return true
	}
	return false
}

func (m *model) publishLimit(s *state, i int, t int8) {
	const quota = 2
	p := &s.procs[i]
	*s.limit(t) = min(p.bound, p.w+quota)
	p.bound, p.pc = 0, pubTicking
}

// local is Local.Next with a block in hand.
func (m *model) local(s *state, i int) {
	p := &s.procs[i]
	switch p.pc {
	case localClock:
		now := s.clock - s.holdOf(p.lt).from
		p.tick = now
		if m.coarse {
			now = *s.coarse(p.lt)
		}
		if now <= p.lpos/span || m.mutant == keepsBlock {
			m.handOut(s, i)
			m.end(s, i)
			return
		}
		w := s.word(p.lt)
		switch {
		case m.mutant == subtracts:
			s.add(p.lt, p.lpos-p.lend)
		case m.mutant == givesBack && *w == p.lend:
			*w = p.lpos
			s.top = s.holdOf(p.lt).from*span + p.lpos - 1
		case m.mutant == givesBackMore && *w >= p.lend && *w < sealed:
			*w = p.lpos
		}
		p.lpos, p.lend, p.lt, p.tick = 0, 0, 0, 0
		p.n, p.pc = m.actors[i].n, takeTrack
	}
}

// handOut makes the next ID of the block in hand.
func (m *model) handOut(s *state, i int) {
	p := &s.procs[i]
	m.make(s, i, p.lt, p.lpos, 1)
	if p.lpos++; p.lpos == p.lend {
		p.lt, p.lpos, p.lend = 0, 0, 0
	}
}
