//go:build snowfence_stall

package snowfence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stallSpec has two sequence numbers, so that a few calls fill a tick.
const stallSpec = "time=41,node=10,seq=1,epoch=1999-01-01"

// scenes are tuples that together bring every two roles and every stall
// point together.
var scenes = []struct {
	roles  []string
	coarse bool
	source bool // a clock that can be stepped back
	spec   string
	lead   int64
	time   []time.Duration
	deep   bool // two preemptions, not one
}{
	{roles: []string{"TryNext", "Fill", "Close"}, time: []time.Duration{time.Millisecond}},
	{roles: []string{"TryNext", "TryNext", "renew"}, time: []time.Duration{time.Millisecond}},
	{roles: []string{"TryNext", "Local", "replace"}, time: []time.Duration{time.Millisecond}},
	{roles: []string{"Next", "TryNext", "replace"}, time: []time.Duration{time.Millisecond}},
	{roles: []string{"Next", "replace", "Close"}, lead: 1, time: []time.Duration{time.Second}, deep: true},
	{roles: []string{"Next", "ask", "replace", "Close"}},
	{roles: []string{"Next", "Next", "Close"}, time: []time.Duration{time.Millisecond}},
	{roles: []string{"Next", "Next", "TryNext"}, deep: true, time: []time.Duration{time.Millisecond}},
	{roles: []string{"Fill", "shrink", "Close"}, lead: 3},
	{roles: []string{"Fill", "Next"}, deep: true, time: []time.Duration{time.Millisecond}},
	{roles: []string{"TryNext", "revoke", "Close"}, deep: true},
	{roles: []string{"TryNext", "renew", "revoke"}, time: []time.Duration{time.Millisecond}},
	{roles: []string{"Local", "Fill", "Close"}, lead: 1000, time: []time.Duration{time.Second}},
	{roles: []string{"TryNext", "Fill", "Close"}, source: true, time: []time.Duration{-time.Millisecond, -time.Second}},

	{roles: []string{"Next", "Fill", "Close"}, coarse: true, time: []time.Duration{2 * time.Millisecond}},
	{roles: []string{"Next", "TryNext", "renew"}, coarse: true, time: []time.Duration{2 * time.Millisecond}},
	{roles: []string{"Next", "TryNext", "replace"}, coarse: true, time: []time.Duration{2 * time.Millisecond}},
	{roles: []string{"Next", "Local", "replace"}, coarse: true, time: []time.Duration{2 * time.Millisecond}},
	{roles: []string{"Local", "replace", "Close"}, coarse: true, lead: 1, time: []time.Duration{2 * time.Millisecond}},
	{roles: []string{"TryNext", "revoke", "Close"}, coarse: true, time: []time.Duration{2 * time.Millisecond}},

	{roles: []string{"Back", "Close"}, source: true, spec: "time=41,rollback=1,node=9,seq=1,epoch=1999-01-01"},
	{
		roles: []string{"TryNext", "Fill", "Close"}, source: true,
		spec: "time=41,rollback=2,node=8,seq=1,epoch=1999-01-01",
		time: []time.Duration{-time.Millisecond, time.Millisecond, -2 * time.Millisecond},
	},
}

// TestStallSchedules plays every scene in every schedule with one
// preemption, or two, at every point between two atomic steps, and checks
// the promises after each.
func TestStallSchedules(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // players take turns, and waking another processor is slow
	var seen [numPoints]int
	total, played := 0, 0
	for _, sc := range scenes {
		t.Run(fmt.Sprint(sc.roles, " coarse=", sc.coarse, " ", sc.spec), func(t *testing.T) {
			preemptions := 1
			if sc.deep && !testing.Short() {
				preemptions = 2
			}
			n := schedules(t, preemptions, func(t *testing.T, choices []int) []decision {
				defer onStall.Store(nil)
				spec := sc.spec
				if spec == "" {
					spec = stallSpec
				}
				s := &scene{
					ordered: sc.spec == "" && !slices.Contains(sc.roles, "Local"),
					clock:   newStepped(),
					l: &ledger{
						scheme: testScheme(spec),
						cur:    Grant{Node: 8},
						length: 3,
						floor:  map[int64]int64{},
					},
				}
				cfg := Config{Fence: s.l, Lead: sc.lead, Coarse: sc.coarse, MaxWait: -1}
				advance := time.Sleep
				if sc.source {
					cfg.Time = s.clock.now
					advance = func(d time.Duration) {
						s.clock.step(d)
						time.Sleep(20 * time.Millisecond)
						s.clock.step(-20 * time.Millisecond)
					}
				}
				var err error
				s.g = must(New(cfg))
				first, err := s.g.TryNext() // opens the fast path
				noError(t, err)
				s.keep([]ID{first})
				s.c = newConductor(t, &seen)
				for _, r := range sc.roles {
					s.c.play(r, func(p *player) { roles[r](s, p) })
				}
				s.c.clock(advance, sc.time...)
				made := s.c.run(choices)
				onStall.Store(nil)
				noError(t, s.g.Close())
				synctest.Wait()
				s.check(t)
				if t.Failed() {
					t.Logf("the schedule: %v", made)
				}
				return made
			})
			t.Logf("%d schedules", n)
			total += n
			played++
		})
	}
	t.Logf("%d schedules in all; stopped at the points %v times", total, seen)
	for p, n := range seen {
		if n == 0 && played == len(scenes) {
			t.Errorf("no goroutine was ever stopped at point %d", p)
		}
	}
}

// once runs f in the goroutine that comes first to a point between two
// atomic steps, as if others had been faster there.
func once(t *testing.T, at point, f func()) (came *bool) {
	t.Helper()
	came = new(bool)
	stop := func(p point) {
		if p == at && !*came {
			*came = true
			f()
		}
	}
	onStall.Store(&stop)
	t.Cleanup(func() { onStall.Store(nil) })
	return came
}

// A call that comes to the word when others took the last position of the
// tick gets no position, not even of the next tick.
func TestStalledBeforeTheLastPosition(t *testing.T) {
	for _, c := range []struct {
		at     point
		coarse bool
		source bool // a clock that opens no fast path
	}{
		{at: afterLimit},
		{at: afterLimit, coarse: true},
		{at: afterWord, source: true},
		{at: afterWord, source: true, coarse: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, clock := testScheme(stallSpec), newStepped()
			now := s.Layout().TickOf(time.Now())
			f := newScript(s, Grant{Node: 1, From: now, Until: now + 90})
			conf := Config{Fence: f, Coarse: c.coarse}
			if c.source {
				conf.Time = clock.now
			}
			g := newGenerator(t, conf)
			g.ticking.Store(true) // no ticker
			first := take(t, g, 1)[0]
			if c.source {
				g.cur.Load().closeFastPath()
			}
			var second ID
			came := once(t, c.at, func() { second = take(t, g, 1)[0] })
			third, err := g.TryNext()
			want := must(s.Compose(Parts{Tick: now, Node: 1}))
			if !*came || first != want || second != want+1 {
				t.Errorf("%+v: came there: %t; %d and %d", c, *came, first, second)
			}
			wantErr(t, err, ErrExhausted, "%+v: the third ID of a tick with two is %d", c, third)
		})
	}
}

// scene is what a schedule plays: callers, a fence that revokes the
// grant under their hands, and a clock.
type scene struct {
	g     *Generator
	l     *ledger
	c     *conductor
	clock *stepped

	mu    sync.Mutex
	ids   [][]ID // of each caller
	heirs []ID   // of the successor

	ordered bool // no handles, no rollback values

	calls int // begun or ended so far
	spans []span
}

// span is a call of the generator: one that ended before another began has
// the lower ID.
type span struct {
	begin, end int
	id         ID
}

// call makes one call and keeps what it returned.
func (s *scene) call(f func() (ID, error)) {
	s.mu.Lock()
	begin, from := s.calls, s.g.clock.Tick()
	s.calls++
	s.mu.Unlock()
	id, err := f()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if err == nil {
		p, err := s.g.scheme.Decode(id)
		switch to := s.g.clock.Tick(); {
		case err != nil:
			s.c.t.Error(err)
		case p.Tick < from && !s.g.coarse && s.g.scheme.rollBits == 0:
			s.c.t.Errorf("an ID of tick %d from a call that began in tick %d", p.Tick, from)
		case p.Tick > to+s.g.lead && s.g.scheme.rollBits == 0:
			s.c.t.Errorf("an ID of tick %d from a call that ended in tick %d, with a lead of %d", p.Tick, to, s.g.lead)
		}
		s.spans = append(s.spans, span{begin, s.calls, id})
		s.ids = append(s.ids, []ID{id})
	}
}

func (s *scene) keep(ids []ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = append(s.ids, ids)
}

// roles are what a goroutine does in a scene.
var roles = map[string]func(s *scene, p *player){
	"TryNext": func(s *scene, _ *player) {
		s.call(s.g.TryNext)
		s.call(s.g.TryNext)
	},
	"Next": func(s *scene, _ *player) {
		s.call(func() (ID, error) { return s.g.Next(context.Background()) })
	},
	"Fill": func(s *scene, _ *player) {
		ids := make([]ID, 3)
		n, _ := s.g.Fill(context.Background(), ids)
		s.keep(ids[:n])
	},
	"Local": func(s *scene, _ *player) {
		for l, i := s.g.Local(), 0; i < 4; i++ {
			s.call(l.TryNext)
		}
	},
	"Back": func(s *scene, _ *player) { // fills a tick, and another rollback value's, from both sides
		for _, d := range []time.Duration{0, 0, -1, 1, 0, -1, 1, 0} {
			s.clock.step(d * time.Millisecond)
			s.call(s.g.TryNext)
		}
	},
	"shrink":  func(s *scene, _ *player) { s.l.renew(-2); s.ask() },
	"renew":   func(s *scene, _ *player) { s.l.renew(2); s.ask() },
	"replace": func(s *scene, _ *player) { s.l.replace(s.g.clock.Tick()); s.ask() },
	"revoke":  func(s *scene, _ *player) { s.l.revoke() },
	"ask":     func(s *scene, _ *player) { s.ask() },
	"Close": func(s *scene, p *player) {
		noError(s.c.t, s.g.Close())
		p.through = true // the successor is only there to use what was given back
		next, err := New(Config{Fence: s.l, MaxWait: -1, Lead: 3})
		if err != nil {
			s.c.t.Error("successor:", err)
			return
		}
		for range 4 {
			if id, err := next.TryNext(); err == nil {
				s.heirs = append(s.heirs, id)
			}
		}
		noError(s.c.t, next.Close())
	},
}

// ask is what a caller does who found the grant used up.
func (s *scene) ask() {
	if t := s.g.cur.Load(); t.hold != nil {
		s.c.stop(afterTrack)
		s.g.askFence(t, s.g.clock.Tick(), s.g.clock.Corrections())
	}
}

// check holds what was made against the ledger.
func (s *scene) check(t *testing.T) {
	all := slices.Concat(s.ids...)
	for _, ids := range s.ids {
		if s.g.scheme.rollBits == 0 {
			checkIncreasing(t, ids)
		}
	}
	for _, a := range s.spans {
		for _, b := range s.spans {
			if a.end <= b.begin && a.id >= b.id && s.ordered {
				t.Errorf("a call that ended before another began has the higher ID: %d and %d", a.id, b.id)
			}
		}
	}
	checkInside(t, s.g.scheme, all, s.l.given)
	checkUnique(t, slices.Concat(all, s.heirs))
	for _, id := range all {
		p := must(s.g.scheme.Decode(id))
		for _, r := range s.l.told {
			if p.Node == r.grant.Node && p.Tick >= r.grant.From && p.Tick < r.grant.Until && p.Tick >= r.used &&
				!s.heldAgain(p, r) {
				t.Errorf("ID of node %d, tick %d, but the fence was told "+
					"that nothing of tick %d or later of %+v was used", p.Node, p.Tick, r.used, r.grant)
			}
		}
	}
	for _, w := range s.l.wrong {
		t.Error(w)
	}
}

// heldAgain reports whether the generator got the ticks again later, by
// another grant.
func (s *scene) heldAgain(p Parts, r released) bool {
	return slices.ContainsFunc(s.l.given, func(g Grant) bool {
		return g.Node == p.Node && g.From > r.grant.From && p.Tick >= g.From && p.Tick < g.Until
	})
}

// conductor runs a few goroutines of the real code one at a time: each
// stops at every stall point, and goes on when it is its turn. It works in
// a synctest bubble, where time stands still unless the conductor lets it
// go on.
type conductor struct {
	t *testing.T

	mu     sync.Mutex
	actors []*player
	byID   map[uint64]*player
	free   bool // no goroutine stops any more
	stuck  bool // a goroutine waits for a mutex, and synctest's time stands still for that

	calm int             // goroutines when all were last seen to wait, plus those done by then
	seen *[numPoints]int // how often a goroutine was stopped there while others ran
}

// player is one goroutine: of the test, or one that the generator started
// and that reached a stall point.
type player struct {
	name    string
	turn    chan struct{}
	waits   bool // for its turn
	done    bool
	through bool  // does not stop
	at      point // where it waits

	time []time.Duration // of the clock alone, which has no goroutine: the steps still to make
	step func(time.Duration)
}

func newConductor(t *testing.T, seen *[numPoints]int) *conductor {
	c := &conductor{t: t, byID: map[uint64]*player{}, seen: seen}
	stop := c.stop
	onStall.Store(&stop)
	return c
}

// play adds a goroutine that waits for its turn before it starts.
func (c *conductor) play(name string, f func(p *player)) {
	p := &player{name: name, turn: make(chan struct{}), waits: true, at: -1}
	c.actors = append(c.actors, p)
	go func() {
		c.mu.Lock()
		c.byID[goid()] = p
		c.mu.Unlock()
		<-p.turn
		f(p)
		c.mu.Lock()
		p.done = true
		c.mu.Unlock()
	}()
}

// clock adds an actor that makes these steps of time.
func (c *conductor) clock(step func(time.Duration), steps ...time.Duration) {
	c.actors = append(c.actors, &player{name: "clock", waits: true, time: steps, step: step})
}

// stop is what happens at a stall point.
func (c *conductor) stop(at point) {
	id := goid()
	c.mu.Lock()
	p := c.byID[id]
	if p == nil && !c.free {
		p = &player{name: "background", turn: make(chan struct{})}
		c.byID[id] = p
		c.actors = append(c.actors, p)
	}
	if c.free || p.through {
		c.mu.Unlock()
		return
	}
	p.waits, p.at = true, at
	c.mu.Unlock()
	<-p.turn
}

// decision is a place in a schedule: who could go on, and who did.
type decision struct {
	enabled []int
	last    int // who went before
	chosen  int
}

// run plays a schedule: the given choices, and then everybody as long as it
// goes.
func (c *conductor) run(choices []int) (made []decision) {
	last := -1
	for {
		c.settle()
		enabled := c.enabled()
		if len(enabled) == 0 {
			break
		}
		next := enabled[0]
		for _, e := range enabled {
			if e == last {
				next = e
			}
		}
		// What the generator runs in the background is not held up before
		// its first stall point, so now and then a schedule cannot be
		// repeated to the letter; then it goes on as it comes.
		if i := len(made); i < len(choices) && slices.Contains(enabled, choices[i]) {
			next = choices[i]
		}
		made = append(made, decision{enabled, last, next})
		last = next
		c.wake(c.actors[next])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = true
	for _, p := range c.actors {
		if p.waits && p.turn != nil {
			close(p.turn) // it came from the background after everybody was seen to wait
			continue
		}
		if !p.done && p.name != "background" && p.turn != nil {
			c.t.Errorf("%s waits for ever, last stopped at point %d", p.name, p.at)
		}
	}
	return made
}

func (c *conductor) enabled() (list []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, p := range c.actors {
		if p.waits && (p.turn != nil || !c.stuck && len(p.time) > 0) {
			list = append(list, i)
		}
	}
	return list
}

func (c *conductor) wake(p *player) {
	if p.turn == nil {
		p.step(p.time[0])
		p.time = p.time[1:]
		synctest.Wait() // a ticker may have run
		return
	}
	c.mu.Lock()
	p.waits = false
	for _, q := range c.actors {
		if q != p && q.waits && q.turn != nil && q.at >= 0 {
			c.seen[q.at]++
		}
	}
	c.mu.Unlock()
	p.turn <- struct{}{}
}

// settle returns when every goroutine of the generators waits: for its
// turn, for a mutex, or for an answer.
func (c *conductor) settle() {
	buf := make([]byte, 1<<16)
	for spin := 0; ; spin++ {
		runtime.Gosched()
		c.mu.Lock()
		loose, done := 0, 0
		for _, p := range c.actors {
			switch {
			case p.done:
				done++
			case !p.waits && p.at != afterTicker: // a ticker that does not wait for its turn waits for the time
				loose++
			}
		}
		c.mu.Unlock()
		switch {
		case loose == 0 && runtime.NumGoroutine()+done == c.calm:
			c.stuck = false
			return
		case spin < 50:
			continue // most stop at the next point soon
		}
		busy, stuck := false, false
		for dump := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			head, rest, _ := strings.Cut(dump, "\n")
			if !strings.Contains(rest, "snowfence/snowfence.") || strings.Contains(rest, "(*conductor).settle") {
				continue
			}
			lock := strings.Contains(head, "[sync.Mutex.Lock")
			stuck = stuck || lock
			busy = busy || !lock && !strings.Contains(head, "(durable)") &&
				!strings.Contains(head, "[chan receive") && !strings.Contains(head, "[select")
		}
		if !busy {
			c.stuck, c.calm = stuck, runtime.NumGoroutine()+done
			return
		}
	}
}

// goid returns the number of the running goroutine, which nothing but its
// stack trace tells.
func goid() uint64 {
	var buf [64]byte
	fields := bytes.Fields(buf[:runtime.Stack(buf[:], false)])
	id, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		panic(err)
	}
	return id
}

// schedules plays scene under every schedule with at most the given number
// of preemptions: places where a goroutine that could go on is stopped for
// another. It returns how many that were.
func schedules(t *testing.T, preemptions int, scene func(t *testing.T, choices []int) []decision) (count int) {
	type prefix struct {
		choices []int
		cost    int
	}
	for todo := []prefix{{}}; len(todo) > 0 && !t.Failed(); count++ {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var made []decision
		synctest.Test(t, func(t *testing.T) { made = scene(t, p.choices) })
		choices := make([]int, len(made))
		for i, d := range made {
			choices[i] = d.chosen
		}
		for i := len(p.choices); i < len(made); i++ {
			d, cost := made[i], p.cost
			for _, e := range d.enabled {
				if e == d.last {
					cost++
				}
			}
			for _, e := range d.enabled {
				if e != d.chosen && cost <= preemptions {
					todo = append(todo, prefix{append(choices[:i:i], e), cost})
				}
			}
		}
	}
	return count
}

// ledger is a fence over a store of its own: it knows what it granted, what
// was given back, and who may ask.
type ledger struct {
	scheme *Scheme

	mu     sync.Mutex
	bound  bool
	seal   func() int64
	have   bool
	cur    Grant
	length int64           // of a first grant
	floor  map[int64]int64 // per node: where the next grant starts
	given  []Grant
	told   []released // by Release and by seal
	wrong  []string
}

var errNothing = errors.New("the ledger has nothing to give")

func (l *ledger) Scheme() *Scheme { return l.scheme }

func (l *ledger) Bind(seal func() int64) (func(), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bound {
		return nil, ErrBound
	}
	l.bound, l.seal = true, seal
	l.have = false // what was not given back runs out by itself
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.bound = false
	}, nil
}

func (l *ledger) Grant(_ context.Context, after int64) (Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.bound {
		l.wrong = append(l.wrong, "the fence was asked by a generator that gave it back")
	}
	if !l.have {
		l.take(l.cur.Node, after, 9)
	}
	if l.cur.Until <= after {
		return Grant{}, errNothing
	}
	return l.cur, nil
}

func (l *ledger) Held(after int64) (Grant, bool) { return atHand(l, after) }

// take gives a node from its floor on, or a little before the tick after,
// and some ticks beyond that. Grants begin at different distances from the
// present, so that a position of one means another tick in the next.
func (l *ledger) take(node, after, before int64) {
	from := max(l.floor[node], after-before)
	l.have, l.cur = true, Grant{Node: node, From: from, Until: max(from, after) + l.length}
	l.floor[node] = l.cur.Until
	l.given = append(l.given, l.cur)
}

func (l *ledger) Release(_ context.Context, g Grant, used int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, released{g, used})
	if l.have && g.Node == l.cur.Node && g.From == l.cur.From {
		l.have = false
		l.floor[g.Node] = used
	}
	return nil
}

// renew moves the end of the grant. A lower one changes nothing in the
// store.
func (l *ledger) renew(ticks int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.have {
		l.cur.Until += ticks
		l.floor[l.cur.Node] = max(l.floor[l.cur.Node], l.cur.Until)
		l.given = append(l.given, l.cur)
	}
}

// replace gives the node below from now on: of two IDs of one tick the
// later one would be lower, if the generator let that happen.
func (l *ledger) replace(after int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.have {
		l.take(l.cur.Node-1, after, 1)
	}
}

// revoke takes the grant away, as a lease that lost a swap.
func (l *ledger) revoke() {
	l.mu.Lock()
	seal, cur, have := l.seal, l.cur, l.have
	l.have = false
	l.cur.Node--
	l.mu.Unlock()
	if !have {
		return
	}
	used := seal()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, released{cur, used})
	l.floor[cur.Node] = min(l.floor[cur.Node], max(used, cur.From))
}
