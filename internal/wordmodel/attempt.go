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
			p.pc = halt
		case m.position(p) == p.w && p.n == 1:
			p.pc = takeAdd
		default:
			p.pc = takeCAS
		}
	case takeCAS:
		w, pos := s.word(p.t), m.position(p)
		if *w != p.w && m.mutant != storesWord {
			p.w, p.pc = 0, takeWord
			return
		}
		k := min(p.n, p.bound-pos)
		if m.mutant == forgetsBegin {
			k = min(p.n, p.bound-max(p.w, p.now))
		}
		*w = pos + k
		m.took(s, i, pos, k)
	case takeAdd:
		pos := s.add(p.t, 1) - 1
		switch {
		case pos < p.bound && m.mutant == clockOutside:
			m.took(s, i, p.now+pos%span, 1) // the time as read before, the number from the counter
		case pos < p.bound:
			m.took(s, i, pos, 1)
		case m.mutant == subtracts:
			p.pc = takeUndo
		default:
			p.pc = halt
		}
	case takeUndo:
		s.add(p.t, -1)
		p.pc = halt
	case halt:
		*s.coarse(p.t), *s.limit(p.t) = parked, 0
		m.end(s, i) // an obstacle
	case pubCoarse, pubLimit, pubTicking, pubSure:
		if m.publish(s, i) {
			m.done(s, i)
		}
	}
}

// position is where an attempt takes, after it has read the word.
func (m *model) position(p *proc) int8 {
	if p.w > p.now && m.mutant != beginsAgain {
		return p.w
	}
	return m.beginOf(p.now)
}

func (m *model) takeEnd(s *state, i int) {
	p := &s.procs[i]
	m.window(p, s.holdOf(p.t).end)
	if m.mutant == opensEarly && p.now < p.bound {
		*s.sure(p.t), *s.limit(p.t) = p.tick, p.bound
	}
	if p.pc = takeWord; m.rolls > 1 {
		p.pc = rollWord
	}
}

// took ends the step that took positions: the IDs are made, or go into the
// handle's block.
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
	switch {
	case !m.coarse && m.backs > 0:
		m.done(s, i) // a clock that can step back is sure of nothing
	case !m.coarse:
		p.w, p.pc = 0, pubLimit
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

// publish is track.publish and Generator.publishCoarse; p.w is the word after the
// take. It reports the end.
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
	case pubSure:
		*s.sure(t) = p.tick
		return true
	}
	return false
}

func (m *model) publishLimit(s *state, i int, t int8) {
	const quota = 2
	p := &s.procs[i]
	if !m.coarse {
		*s.limit(t) = p.bound
		p.bound, p.pc = 0, pubSure
		return
	}
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
