// Package simulate runs fleets of generators over a store in virtual time,
// and programs that take numbers of sequences, with everything that goes
// wrong drawn from one seed, and checks every ID and number. It runs the
// real code of the packages snowfence, lease and sequence. Only the store,
// clocks, goroutines, waiting and random numbers (package world) are the
// simulation's. One seed is one run: nothing in it depends on real time or
// on how goroutines are scheduled.
package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
)

// namespace is the one of all runs.
const namespace = "sim"

// sim is one run.
type sim struct {
	*scenario
	plan      Plan
	now       time.Duration
	seq       uint64
	queue     queue
	task      *task
	chance    *rand.Rand // what happens in the world at large
	store     *medium
	procs     []*process
	operator  *process
	hostile   *hostile // nil in most runs
	lessors   []*holding
	era       int
	targets   []*snowfence.Scheme // of all changes of layout that were tried
	backupEra int                 // era of the backup
	floors    []time.Time         // of each layout after the first
	claims    map[int64][]*claim
	setBacks  map[string]setBack // by nonce: writes that the store had, and went back behind
	wrote     map[string]int     // by nonce of a holder's write: how often the floor of all had been raised by then
	runs      []run
	calm      bool          // nothing goes wrong any more
	due       time.Duration // from when on every slot has to live again; 0 while faults go on
	fullAt    time.Duration // when a grant had left no block free
	shy       func() bool   // tests of the simulation itself let processes begin no session with it
	mute      func() bool   // and let generators rest
	counters  []*counter    // the sequences of a run that has them instead of leases
	eve       time.Duration // from the year's first moment to the beginning of such a run
	tells     bool          // the hypervisor tells that a machine was resumed
	equal     bool          // copies of a machine have equal random numbers
	copies    uint64        // of machines, so far
	ahead     time.Duration // how far any clock was ahead at most

	figures Figures
	hash    uint64
	lines   []string
	bad     *Collision
}

// newSim draws the world of a run.
func newSim(plan Plan) (*sim, error) {
	stream := uint64(1) // of random numbers
	if plan.sequences {
		stream = 8
	}
	chance := rand.New(rand.NewPCG(plan.Seed, stream))
	s := &sim{
		plan: plan, chance: rand.New(rand.NewPCG(plan.Seed, stream+1)), claims: map[int64][]*claim{},
		setBacks: map[string]setBack{}, wrote: map[string]int{}, hash: 14695981039346656037,
		store: newStore(), shy: never, mute: never, tells: plan.Seed%2 == 0, equal: plan.Seed/2%2 == 0,
	}
	if plan.sequences {
		s.scenario = newCounting(chance)
		s.drawCounters(chance)
		return s, nil
	}
	var err error
	if s.scenario, err = newScenario(chance, plan.layout, plan.Seed); err != nil {
		return nil, err
	}
	s.figures.Seeds = 1
	s.store.clock = chance.IntN(2) == 0
	s.store.apart = chance.IntN(4) == 0
	s.store.rides = !s.store.apart && chance.IntN(2) == 0
	s.allowSkew()
	s.drawLessors()
	s.placeHostile()
	return s, nil
}

// Figures count the events of a simulation.
type Figures struct {
	Seeds     int              // runs
	Virtual   time.Duration    // simulated time
	Processes int64            // started
	Grants    int64            // each a rectangle of its own
	Renewals  int64            // of grants
	Subleases int64            // grants of lessors
	Calls     int64            // to the store
	IDs       int64            // made and checked
	Sublet    int64            // IDs in subleases
	Reshaped  int64            // IDs of layouts with scatter or tag
	Layouts   int64            // changes of layout that were carried out
	Suspected int64            // changes of the store's identity by those who saw a loss
	Unseen    int64            // made twice where no lease can see it: see mayOverlap
	Takes     int64            // of sequences, that were answered
	Numbers   int64            // of sequences, given out and checked
	Repeated  int64            // given twice where no program can see it: see mayRepeat
	Faults    [numFaults]int64 // by kind
}

// Injected is the number of all faults.
func (f *Figures) Injected() (n int64) {
	for _, k := range f.Faults {
		n += k
	}
	return n
}

func (f *Figures) addFigures(o *Figures) {
	f.Seeds += o.Seeds
	f.Virtual += o.Virtual
	f.Processes += o.Processes
	f.Grants += o.Grants
	f.Renewals += o.Renewals
	f.Subleases += o.Subleases
	f.Calls += o.Calls
	f.IDs += o.IDs
	f.Sublet += o.Sublet
	f.Reshaped += o.Reshaped
	f.Layouts += o.Layouts
	f.Suspected += o.Suspected
	f.Unseen += o.Unseen
	f.Takes += o.Takes
	f.Numbers += o.Numbers
	f.Repeated += o.Repeated
	for i, n := range o.Faults {
		f.Faults[i] += n
	}
}

// Collision is a promise that was broken.
type Collision struct {
	Seed  uint64
	At    time.Duration
	What  string
	Steps []string // what led to it
}

func (c *Collision) Error() string {
	return fmt.Sprintf("seed %d, after %v: %s", c.Seed, c.At, c.What)
}

func (s *sim) violate(format string, args ...any) {
	if s.bad == nil {
		s.bad = &Collision{Seed: s.plan.Seed, At: s.now, What: fmt.Sprintf(format, args...)}
		s.traceLine("VIOLATION: %s", s.bad.What)
	}
}

// keepSteps keeps the steps that have to do with a collision: steps of the
// processes and the node that it names, faults, and what concerns all.
func (c *Collision) keepSteps(steps []string) []string {
	names := map[string]bool{}
	words := strings.FieldsFunc(c.What, func(r rune) bool { return strings.ContainsRune(" ,:;[]()", r) })
	for i, w := range words {
		if w == "node" && i+1 < len(words) {
			names["node "+words[i+1]] = true
		} else if w[0] >= 'a' && w[0] <= 'h' && strings.ContainsAny(w, "0123456789") {
			names[w] = true
		}
	}
	var out []string
	for _, line := range steps {
		keep := !strings.Contains(line, " node ") || strings.Contains(line, "fault ") ||
			strings.Contains(line, "VIOLATION") || strings.Contains(line, "node -1")
		for name := range names {
			at := strings.Index(line, " "+name)
			keep = keep || at >= 0 && strings.IndexAny(line[at+1+len(name):]+" ", " ,") == 0
		}
		if keep {
			out = append(out, line)
		}
		if strings.Contains(line, "VIOLATION") {
			break
		}
	}
	return out
}

// traceLine keeps a line of what happens, if a caller wants to read it.
func (s *sim) traceLine(format string, args ...any) {
	if s.plan.Trace {
		s.lines = append(s.lines, fmt.Sprintf("%12.6fs  ", s.now.Seconds())+fmt.Sprintf(format, args...))
	}
}

// hashEvent adds an event to the hash that tells two runs apart (FNV-1a).
func (s *sim) hashEvent(what, who string, a, b int64) {
	for _, text := range [2]string{what, who} {
		for i := range len(text) {
			s.hash = (s.hash ^ uint64(text[i])) * 1099511628211
		}
	}
	for _, v := range [3]uint64{uint64(s.now), uint64(a), uint64(b)} {
		s.hash = (s.hash ^ v) * 1099511628211
		s.hash ^= s.hash >> 29
	}
}

func (s *sim) runAfter(d time.Duration, do func()) { s.runAt(s.now+max(d, 0), do) }

func (s *sim) runAt(t time.Duration, do func()) {
	s.seq++
	s.queue.planEvent(event{t, s.seq, do})
}

// advanceTo lets everything happen up to a moment.
func (s *sim) advanceTo(ctx context.Context, until time.Duration) {
	for n := 0; s.bad == nil && len(s.queue) > 0 && s.queue[0].at <= until; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return
		}
		e := s.queue.next()
		s.now = e.at
		e.do()
	}
	if s.bad == nil {
		s.now = max(s.now, until)
	}
}

// Run simulates one seed.
func Run(ctx context.Context, plan Plan) (*Figures, uint64, *Collision, error) {
	s, err := newSim(plan)
	if err != nil {
		return nil, 0, nil, err
	}
	if plan.tamper != nil {
		plan.tamper(s)
	}
	defer s.stopTasks()
	if err := s.beginRun(); err != nil {
		return nil, 0, nil, err
	}
	long := time.Duration(plan.Hours * float64(time.Hour))
	s.advanceTo(ctx, long)
	if s.bad == nil && ctx.Err() == nil {
		s.checkRecovery(ctx)
	}
	if s.bad == nil {
		s.findDuplicates()
	}
	if s.bad != nil {
		s.bad.Steps = s.bad.keepSteps(s.lines)
	}
	s.figures.Virtual = s.now
	return &s.figures, s.hash, s.bad, ctx.Err()
}

func never() bool { return false }

// stopTasks ends all coroutines.
func (s *sim) stopTasks() {
	s.task = nil
	for _, p := range s.procs {
		s.killProcess(p)
	}
	s.killProcess(s.operator)
}

// planSuccessor starts the successor of a process some time after its end.
func (s *sim) planSuccessor(p *process) {
	s.hashEvent("ended", p.name, 0, 0)
	for i, o := range s.procs {
		if o == p {
			s.procs = append(s.procs[:i:i], s.procs[i+1:]...)
			break
		}
	}
	if sl := p.slot; sl != nil && sl.process == p {
		sl.process = nil
		d := time.Duration(s.chance.Int64N(int64(s.ttl)))
		if s.chance.IntN(2) == 0 {
			d /= 100
		}
		s.runAfter(d, func() {
			if sl.process == nil {
				s.startProcess(sl)
			}
		})
	}
}

func (s *sim) startProcess(sl *slot) {
	sl.starts++
	p := s.newProcess(fmt.Sprintf("%s%d", sl.label, sl.starts))
	p.slot, p.clock, p.programs, p.verbose = sl, sl.clock, sl.leases, s.rates[faultTwins] > 0
	sl.process = p
	s.procs = append(s.procs, p)
	s.figures.Processes++
	s.traceLine("%s starts", p.name)
	p.startWork()
}

func (s *sim) newProcess(name string) *process {
	seed := s.chance.Uint64()
	p := &process{s: s, name: name, era: s.era}
	p.programRand, p.env = rand.New(rand.NewPCG(seed, 3)), rand.New(rand.NewPCG(seed, 4))
	p.seed = seed
	return p
}

func (p *process) startWork() {
	for range p.slot.leases {
		if p.s.counters != nil {
			p.Go(p.useSequences)
		} else {
			p.Go(p.useLease)
		}
	}
}

// beginRun makes the namespace or the sequences, and starts everything.
func (s *sim) beginRun() error {
	s.operator = s.newProcess("operator")
	s.operator.slot = &slot{label: "operator", index: -1}
	s.operator.programs = 1
	create := s.createNamespace
	if s.counters != nil {
		create = s.createAll
	}
	if err := create(); err != nil {
		return err
	}
	s.backUpStore()
	for _, sl := range s.slots {
		s.runAfter(time.Duration(s.chance.Int64N(int64(s.ttl))), func() { s.startProcess(sl) })
	}
	s.runAfter(s.drawPause(), s.strikeOnce)
	if s.hostile != nil {
		s.runAfter(s.ttl, s.hostile.actOnce)
	}
	return nil
}

// checkRecovery ends all faults, and checks that every process goes on
// within a bound.
func (s *sim) checkRecovery(ctx context.Context) {
	s.calm = true
	s.store.down = 0
	for _, sl := range s.slots {
		sl.clock = clock{since: s.now}
	}
	for _, p := range s.procs {
		p.apart, p.pausedUntil = 0, 0
		p.clock = clock{since: s.now}
	}
	s.operator.apart = 0
	if s.counters != nil {
		s.checkNumbersResume(ctx)
		return
	}
	s.repairNamespace()
	s.advanceTo(ctx, s.now+4*s.ttl) // what the operator had begun ends by then, perhaps half-way
	s.repairNamespace()
	s.due = s.now + s.resumeBound()
	s.advanceTo(ctx, s.due)
	s.advanceTo(ctx, s.due+4*s.ttl+10*time.Second)
	if s.bad == nil && ctx.Err() == nil {
		s.checkProgress()
	}
}

// resumeBound is how long after the last fault every process may take to
// make IDs again: until the clock reaches all raised floors, and the time
// to notice and to acquire. A store with a clock grants no tick to a clock
// that is off by more than the skew, and lets a mended clock go on. A lease
// that is opened ahead of the clock and dropped raises a floor by a tick:
// while the clock catches up, that happens less than once in two ttls.
func (s *sim) resumeBound() time.Duration {
	tick := s.schemes[s.era].Layout().Tick
	ahead := s.ahead
	if s.store.clock {
		ahead = min(ahead, s.ttl+s.skew)
	}
	d := ahead + 4*s.ttl + 2*s.skew + 4*tick + 10*time.Second
	d += time.Duration(float64(ahead) * min(1, tick.Seconds()/s.ttl.Seconds()))
	if s.hostile != nil {
		d += 4 * (s.ttl + s.skew) // for what it took last, and what that pushed ahead
	}
	return d
}
