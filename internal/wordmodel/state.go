package wordmodel

const (
	span     = 2 // positions in a tick
	maxHolds = 3
	maxRolls = 2
	maxProcs = 6
	nodes    = 2

	// A word counts modulo wordSize, the real one modulo 2^64; sealed is half of
	// that.
	wordSize = 64
	sealed   = wordSize / 2

	parked = 100 // the coarse tick when nobody keeps the time

	closedTrack = 99 // the terminal value of the pointer
)

// hold is a grant in use, with a word for each rollback value. Ticks count from
// from.
type hold struct {
	live, node, from int8 // from is a tick
	start            int8 // the first tick that may be used
	until, end       int8 // in ticks and in positions; raise stores them one after the other
	word             [maxRolls]int8
	limit, coarse    [maxRolls]int8
	sure             [maxRolls]int8 // the tick that is sure to be the current one while the clock says so; −1 for none
	lock, done, used int8           // used is a tick
	acked            int8           // the tick up to which the fence's store has acknowledged the grant
	// What the fence was told: nothing of this tick or later is or will be made;
	// free if nothing.
	bar int8
}

const free = 100

// proc is where an actor stands, and its local variables by their names in the
// real code.
type proc struct {
	pc    pc
	calls int8 // left to make

	t, tick, now, bound, w, pos int8
	n                           int8 // still to fill

	lt, lpos, lend int8 // the block of a handle

	hold, ret, used int8 // of seal: what, where to go on, what it returned
	rev             int8 // of fetch: how often the fence had revoked before it was asked
	op              int8 // of fetch: the answer
}

// state is everything: small, without pointers, comparable.
type state struct {
	made [nodes][maxRolls]uint16 // IDs of the generator, a bit for each position since tick 0
	succ [nodes][maxRolls]uint16 // IDs of the successor

	clock, maxClock, backs int8
	cur                    int8 // hold × maxRolls + rollback value
	mu                     int8 // the generator's mutex: 1 + the actor that has it
	flight, revoked        int8
	last                   int8 // the hold Close took
	ticking                int8

	lost           int8 // the fence knows that its grant is gone
	answers        int8 // how many answers it gave
	closed         int8 // Close returned
	top            int8 // highest position since tick 0 that was taken, by whomever
	succN, succPos int8 // the successor's node and next position; succPos −1 while there is none
	succLeft       int8

	bad   violation
	holds [maxHolds]hold
	procs [maxProcs]proc
}

func trackOf(h, roll int8) int8 { return h*maxRolls + roll }

func (s *state) holdOf(t int8) *hold { return &s.holds[t/maxRolls] }
func (s *state) word(t int8) *int8   { return &s.holds[t/maxRolls].word[t%maxRolls] }
func (s *state) limit(t int8) *int8  { return &s.holds[t/maxRolls].limit[t%maxRolls] }
func (s *state) sure(t int8) *int8   { return &s.holds[t/maxRolls].sure[t%maxRolls] }
func (s *state) coarse(t int8) *int8 { return &s.holds[t/maxRolls].coarse[t%maxRolls] }

// add is an atomic add; it returns the new value.
func (s *state) add(t, k int8) int8 {
	w := s.word(t)
	*w = int8((int(*w) + int(k) + wordSize) % wordSize)
	return *w
}

// violation is a broken promise.
type violation uint8

const (
	none violation = iota
	duplicate
	outsideGrant
	afterRelease
	unordered
	wordDown
	afterClose
	late
	early
	fenceAfterClose
	staleLimit
	stuck
)

var violations = [...]string{
	duplicate:       "the same ID twice",
	outsideGrant:    "an ID outside its grant, as acknowledged",
	afterRelease:    "an ID at or above what the fence was told is unused",
	unordered:       "IDs fall in the order of the takes",
	wordDown:        "a word moved down",
	afterClose:      "a take after Close returned",
	late:            "an ID older than its call",
	early:           "an ID further ahead of the clock than the lead",
	fenceAfterClose: "the fence was asked after the generator gave it back",
	staleLimit:      "nobody keeps the time, and the next call does not look at the clock",
	stuck:           "an actor waits for ever",
}

func (v violation) String() string {
	if v == none {
		return ""
	}
	return violations[v]
}

// fail keeps the first violation that counts.
func (m *model) fail(s *state, v violation) {
	if s.bad == none && m.ignore&(1<<v) == 0 {
		s.bad = v
	}
}
