package wordmodel

// beginTry is Generator.tryExact or tryCoarse up to the load of the pointer.
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
		p.pc = trySure
	case m.limitLate():
		p.pc = tryAdd
	default:
		p.pc = tryLimit
	}
}

func (m *model) try(s *state, i int) {
	p := &s.procs[i]
	h := s.holdOf(p.t)
	switch p.pc {
	case trySure:
		p.tick = s.clock - h.from
		if p.pc = tryLimit; p.tick > *s.sure(p.t) {
			m.slow(s, i)
		}
	case tryLimit:
		p.bound = *s.limit(p.t)
		switch {
		case p.bound == 0:
			m.slow(s, i)
		case m.coarse:
			p.pc = tryAdd
		default:
			p.pc = tryWord
		}
	case tryWord:
		if p.pc = tryAdd; *s.word(p.t) >= p.bound {
			m.slow(s, i)
		}
	case tryAdd:
		p.pos = s.add(p.t, 1) - 1
		if m.limitLate() {
			m.take(s, p.t, p.pos, 1)
			p.pc = tryLimitLate
			return
		}
		if p.pos < p.bound {
			m.take(s, p.t, p.pos, 1)
		}
		m.tryTook(s, i)
	case tryLimitLate:
		p.bound = *s.limit(p.t)
		m.tryMake(s, i)
	case tryMake:
		m.tryMake(s, i)
	}
}

// tryTook is the end of the step that took a position.
func (m *model) tryTook(s *state, i int) {
	switch p := &s.procs[i]; m.mutant {
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

// limitLate reports whether the limit is loaded after the add. That is safe while
// no bound is raised after its word was sealed.
func (m *model) limitLate() bool { return m.lateLim || m.mutant == closesOutside }
