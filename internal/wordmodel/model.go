package wordmodel

import (
	"fmt"
	"slices"
)

// kind is what an actor does.
type kind uint8

const (
	next   kind = iota // Generator.Next: try, and attempt when that fails
	fill               // Generator.Fill of n, with attempt
	handle             // Local.Next with blocks of n
	keeper             // the coarse ticker
	asker              // Generator.ask and what follows; calls is how often
	revoke             // Generator.revoke, called by the fence
	closer             // Generator.Close
)

type actor struct {
	kind  kind
	n     int8
	calls int8
}

// answer is what the fence says when it is asked.
type answer struct {
	kind        answerKind
	node        int8
	from, until int8 // ticks
}

type answerKind uint8

const (
	renewed answerKind = iota // the grant in use with another until
	other                     // another grant
	again                     // the grant in use as it is
)

// model is one configuration: its actors, and in what world.
type model struct {
	name    string
	actors  []actor
	answers []answer
	until   int8 // of the first grant: node 0 from tick 0
	ticks   int8 // the clock runs from 0 to ticks
	backs   int8 // how often it may step back by one
	lead    int8
	rolls   int8 // rollback values, 1 for none
	coarse  bool
	spread  bool // ticks begin at their second position, then at their first, and so on
	lateLim bool // coarse try loads the limit after the add, not before
	succ    int8 // positions the successor makes
	long    bool // left out with -short

	mutant mutant
	ignore uint // violations that do not count, as bits
}

func (m *model) start() state {
	s := state{cur: 0, top: -1, succPos: -1, last: -1, succLeft: m.succ}
	s.holds[0] = m.newHold(0, 0, m.until, 0)
	for i, a := range m.actors {
		s.procs[i].calls = a.calls
	}
	if m.mutant == secondGenerator {
		s.succPos = 0
	}
	return s
}

func (m *model) newHold(node, from, until, start int8) hold {
	h := hold{
		live: 1, node: node, from: from, start: max(from, start), until: until - from,
		end: (until - from) * span, acked: until, bar: free,
	}
	for r := range m.rolls {
		h.coarse[r], h.sure[r] = parked, -1
		h.word[r] = max(start-from, 0) * span
	}
	return h
}

// The actions that are no actor's step.
const (
	forward = maxProcs + iota
	back
	successor
)

// next lists what can happen in s.
func (m *model) next(s state, emit func(int, state)) {
	for i := range m.actors {
		to := s
		if m.step(&to, i) {
			m.compare(&s, &to)
			emit(i, to)
		}
	}
	if s.clock < m.ticks {
		to := s
		to.clock++
		to.maxClock = max(to.maxClock, to.clock)
		emit(forward, to)
	}
	if s.clock > 0 && s.backs < m.backs {
		to := s
		to.clock--
		to.backs++
		emit(back, to)
	}
	if s.succPos >= 0 && s.succLeft > 0 {
		to := s
		m.successor(&to)
		emit(successor, to)
	}
}

// compare notes words that moved down: only giving back from the exact end may do
// so.
func (m *model) compare(s, to *state) {
	for h := range s.holds {
		for r := range m.rolls {
			if s.holds[h].live == 1 && to.holds[h].word[r] < s.holds[h].word[r] && to.holds[h].word[r] < sealed &&
				m.mutant != givesBack {
				m.fail(to, wordDown)
			}
		}
	}
}

// successor makes one position of the next generator on the node, in every
// rollback value.
func (m *model) successor(s *state) {
	bit := uint16(1) << s.succPos
	for r := range m.rolls {
		if s.made[s.succN][r]&bit != 0 {
			m.fail(s, duplicate)
		}
		s.succ[s.succN][r] |= bit
	}
	s.succPos++
	s.succLeft--
}

// begin is track.begin: where the tick of position now begins.
func (m *model) beginOf(now int8) int8 {
	if !m.spread {
		return now
	}
	return now + (now/span+1)%span
}

// raises reports whether the end of a grant can move.
func (m *model) raises() bool {
	return slices.ContainsFunc(m.answers, func(a answer) bool { return a.kind == renewed })
}

func (m *model) handles() bool {
	return slices.ContainsFunc(m.actors, func(a actor) bool { return a.kind == handle })
}

// explore visits all states.
func (m *model) explore(limit int) result {
	return explorer[state]{next: m.next, check: m.check, limit: limit}.run(m.start())
}

// story tells a trace in words.
func (m *model) story(trace []int) []string {
	var lines []string
	s := m.start()
	for _, a := range trace {
		before := s
		switch a {
		case forward:
			s.clock++
			s.maxClock = max(s.maxClock, s.clock)
		case back:
			s.clock--
			s.backs++
		case successor:
			m.successor(&s)
		default:
			m.step(&s, a)
			m.compare(&before, &s)
		}
		lines = append(lines, m.line(a, &before, &s))
	}
	return lines
}

func (m *model) line(a int, before, s *state) string {
	who, what := "clock", fmt.Sprintf("is at tick %d", s.clock)
	switch {
	case a == successor:
		who, what = "successor", fmt.Sprintf("makes node %d position %d", s.succN, before.succPos)
	case a < maxProcs:
		at := before.procs[a].pc
		who, what = fmt.Sprintf("%s %d", m.actors[a].kind, a), at.String()
		if at == idle || at == waitTicking {
			what = "begins"
		}
	}
	text := fmt.Sprintf("%-11s %-34s", who, what)
	for i, h := range s.holds {
		if h.live == 1 {
			text += fmt.Sprintf(" grant %d: word %d end %d;", i, h.word[0], h.end)
		}
	}
	for n, made := range s.made {
		for r := range made {
			if b := s.made[n][r] &^ before.made[n][r]; b != 0 {
				text += fmt.Sprintf(" made node %d rollback %d positions %b", n, r, b)
			}
		}
	}
	return text
}

func (k kind) String() string {
	return [...]string{"next", "fill", "handle", "ticker", "asker", "revoke", "close"}[k]
}
