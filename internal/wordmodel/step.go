package wordmodel

// pc is the next step of an actor: one atomic operation on shared state, and the
// local work after it.
type pc uint8

const (
	idle pc = iota

	trySure
	tryLimit
	tryWord
	tryAdd
	tryLimitLate
	tryMake

	takeTrack
	takeClock
	takeEnd
	rollWord
	rollOther
	rollSwitch
	takeWord
	takeCAS
	takeAdd
	takeUndo
	pubCoarse
	pubLimit
	pubTicking
	pubSure
	halt

	localClock

	waitTicking
	tickClock
	tickWord
	tickEnd
	tickCAS
	parkTicking
	parkTrack
	parkHalt

	askLock
	fetchRevoked
	fetchGrant
	installLock
	installTrack
	installSealed
	raiseUntil
	raiseEnd
	installNew
	installFirst
	landFlight

	sealLock
	sealRead
	sealSwap0
	sealSwap1
	sealLimit
	sealUsed

	closeSwap
	closeUnlock
	closeFlight
	closeRelease
	revokeTrack
	revokeDone
)

var steps = [...]string{
	idle: "idle", trySure: "try: clock, sure.Load", tryLimit: "try: limit.Load", tryWord: "try: word.Load",
	tryAdd: "try: word.Add(1)", tryLimitLate: "try: limit.Load after the add", tryMake: "try: id",
	takeTrack: "attempt: cur.Load", takeClock: "attempt: clock", takeEnd: "attempt: end.Load",
	rollWord: "switchRollback: word.Load", rollOther: "switchRollback: other word",
	rollSwitch: "switchRollback: cur.CAS", takeWord: "attempt: word.Load", takeCAS: "attempt: word.CAS",
	takeAdd: "attempt: word.Add(1)", takeUndo: "attempt: word.Add(-1)", pubCoarse: "publish: coarse.Store",
	pubLimit: "publish: limit.Store", pubTicking: "publish: ticking", pubSure: "publish: sure.Store",
	halt: "halt: limit.Store(0)", localClock: "handle: current", waitTicking: "waits for work",
	tickClock: "keepTime: clock", tickWord: "keepTime: word.Load", tickEnd: "keepTime: end.Load",
	tickCAS: "keepTime: word.CAS(w, begin)", parkTicking: "keepTime: ticking.Store(false)",
	parkTrack: "keepTime: cur.Load to park", parkHalt: "keepTime: halt", askLock: "ask: lock",
	fetchRevoked: "fetch: revoked", fetchGrant: "fetch: fence.Grant", installLock: "install: lock, revoked",
	installTrack: "install: cur.Load", installSealed: "install: sealed()", raiseUntil: "raise: until.Store",
	raiseEnd: "raise: end.Store", installNew: "install: cur.CAS to the new hold",
	installFirst: "install: publishes before the seal", landFlight: "land", sealLock: "seal: lock",
	sealRead: "seal: word.Load", sealSwap0: "seal: word.Swap", sealSwap1: "seal: word.Swap of rollback 1",
	sealLimit: "seal: limit.Store(0)", sealUsed: "seal: used", closeSwap: "Close: cur.Swap(closed)",
	closeUnlock: "Close: unlock", closeFlight: "Close: flight", closeRelease: "Close: fence.Release",
	revokeTrack: "revoke: cur.Load", revokeDone: "revoke: returns",
}

func (p pc) String() string { return steps[p] }

// publishes reports whether an actor is about to set or take back the coarse
// limit, or to start the ticker.
func (p pc) publishes() bool {
	return p >= pubCoarse && p <= pubTicking || p >= parkTicking && p <= parkHalt
}

// step lets actor i take its next step, or reports false: it waits, or is done.
func (m *model) step(s *state, i int) bool {
	p := &s.procs[i]
	switch {
	case p.pc == idle:
		if p.calls == 0 {
			return false
		}
		return m.begin(s, i)
	case m.actors[i].kind == keeper:
		return m.keepTime(s, i)
	case p.pc <= tryMake:
		m.try(s, i)
	case p.pc <= halt:
		m.attempt(s, i)
	case p.pc <= localClock:
		m.local(s, i)
	case p.pc <= landFlight:
		return m.ask(s, i)
	case p.pc <= sealUsed:
		return m.seal(s, i)
	default:
		return m.finish(s, i)
	}
	return true
}

// begin starts a call with its first step.
func (m *model) begin(s *state, i int) bool {
	p := &s.procs[i]
	switch m.actors[i].kind {
	case next:
		p.calls--
		m.beginTry(s, i)
	case fill:
		p.calls--
		p.n = m.actors[i].n
		m.beginAttempt(s, i)
	case handle:
		p.calls--
		if p.lpos < p.lend {
			p.pc = localClock
			m.local(s, i)
			return true
		}
		p.n = m.actors[i].n
		m.beginAttempt(s, i)
	case keeper:
		p.pc = waitTicking
		return m.keepTime(s, i)
	case asker:
		return m.beginAsk(s, i)
	case closer:
		return m.beginClose(s, i)
	case revoke:
		return m.beginRevoke(s, i)
	}
	return true
}

// end ends a call. It keeps what a handle or the ticker keeps, and forgets the
// rest, so that states are equal.
func (m *model) end(s *state, i int) {
	p := &s.procs[i]
	s.procs[i] = proc{calls: p.calls, lt: p.lt, lpos: p.lpos, lend: p.lend}
}
