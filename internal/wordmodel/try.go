package wordmodel

// beginTry is Generator.try up to the load of the pointer.
func (m *model) beginTry(s *state, i int) {
	p := &s.procs[i]
	if s.cur == closedTrack {
		p.calls = 0
		m.end(s, i) // the terminal track: ErrClosed
		return
	}
	p.t = s.cur
	switch {
	case !m.coarse:
		p.pc = tryClock
	case m.limitLate():
		p.pc = coarseAdd
	default:
		p.pc = coarseLimit
	}
}

func (m *model) try(s *state, i int) {
	p := &s.procs[i]
	h := s.holdOf(p.t)
	switch p.pc {
	case coarseLimit:
		p.bound = *s.limit(p.t)
		p.pc = coarseAdd
		if p.bound == 0 {
			m.slow(s, i)
		}
	case coarseAdd:
		p.pos = s.add(p.t, 1) - 1
		if m.limitLate() {
			m.take(s, p.t, p.pos, 1)
			p.pc = coarseLimitLate
			return
		}
		m.tryTook(s, i)
	case coarseLimitLate:
		p.bound = *s.limit(p.t)
		m.tryMake(s, i)

	case tryClock:
		p.tick = s.clock - h.from
		if p.tick < 0 || p.tick*span >= h.end {
			m.slow(s, i)
			return
		}
		p.now = p.tick * span
		p.pc = tryWord
	case tryWord:
		p.w = *s.word(p.t)
		switch {
		case p.w < p.now:
			p.pc = tryCAS
		case m.raises():
			p.pc = tryBound
		default:
			m.tryBound(s, i) // the end is what it is for ever: no step
		}
	case tryCAS:
		w := s.word(p.t)
		switch {
		case *w == p.w || m.mutant == storesWord:
			*w = p.now + 1
			p.pos, p.bound, p.w = p.now, p.now+1, 0
			m.tryTook(s, i)
		default:
			p.w, p.pc = 0, tryWord
		}
	case tryBound:
		m.tryBound(s, i)
	case tryAdd:
		p.pos = s.add(p.t, 1) - 1
		if m.mutant == clockOutside {
			p.pos = p.now + p.pos%span // the time as read before, the sequence from the counter
		}
		m.tryTook(s, i)
	case tryMake:
		m.tryMake(s, i)
	}
}

func (m *model) tryBound(s *state, i int) {
	p := &s.procs[i]
	p.bound = min(p.now+(m.lead+1)*span, s.holdOf(p.t).end)
	if p.pc = tryAdd; p.w >= p.bound {
		m.slow(s, i)
	}
	p.w = 0
}

// tryTook is the end of the step that took a position.
func (m *model) tryTook(s *state, i int) {
	p := &s.procs[i]
	if p.pos < p.bound {
		m.take(s, p.t, p.pos, 1)
	}
	switch m.mutant {
	case presentBound, presentBase, subtracts:
		p.pc = tryMake // what these do next is another step
	default:
		m.tryMake(s, i)
	}
}

func (m *model) tryMake(s *state, i int) {
	p := &s.procs[i]
	ok := p.pos < p.bound
	switch {
	case m.mutant == presentBound && s.cur != closedTrack:
		ok = p.pos < s.holdOf(s.cur).end
	case m.mutant == presentBase && s.cur != closedTrack:
		p.t = s.cur
	case m.mutant == subtracts && !ok:
		s.add(p.t, -1)
	}
	if !ok {
		m.slow(s, i)
		return
	}
	m.make(s, i, p.t, p.pos, 1)
	m.end(s, i)
}

// slow goes on with attempt, as Next does when try fails.
func (m *model) slow(s *state, i int) {
	m.end(s, i)
	p := &s.procs[i]
	p.n, p.pc = 1, takeTrack
}

// limitLate reports whether the limit is loaded after the add. That is safe as long as no bound is raised after its word was sealed.
func (m *model) limitLate() bool { return m.lateLim || m.mutant == closesOutside }
