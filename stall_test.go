//go:build snowfence_stall

package snowfence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// ledger is a fence over a store of its own: it knows what it granted, what was given back, and who may ask.
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
	l.have = false // what nobody gave back runs out by itself
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
		l.take(l.cur.Node, after)
	}
	if l.cur.Until <= after {
		return Grant{}, errNothing
	}
	return l.cur, nil
}

// take gives a node from its floor on, at least up to the tick after.
func (l *ledger) take(node, after int64) {
	from := max(l.floor[node], after-1)
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

// renew moves the end of the grant.
func (l *ledger) renew(ticks int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.have {
		l.cur.Until += ticks
		l.floor[l.cur.Node] = l.cur.Until
		l.given = append(l.given, l.cur)
	}
}

// replace gives the next node from now on.
func (l *ledger) replace(after int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.have {
		l.take(l.cur.Node+1, after)
	}
}

// revoke takes the grant away, as a lease that lost a swap.
func (l *ledger) revoke() {
	l.mu.Lock()
	seal, cur, have := l.seal, l.cur, l.have
	l.have = false
	l.cur.Node++
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

// stallSpec has two sequence numbers, so that a few calls fill a tick.
const stallSpec = "time=41,node=10,seq=1,epoch=1999-01-01"

// scene is what a schedule plays: callers, somebody who takes the grant away under their hands, and a clock.
type scene struct {
	g     *Generator
	l     *ledger
	c     *conductor
	clock *stepped

	mu      sync.Mutex
	ids     [][]ID // of each caller
	heirs   []ID   // of the successor
	handles bool
}

func (s *scene) keep(ids []ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = append(s.ids, ids)
}

// roles are what a goroutine does in a scene.
var roles = map[string]func(s *scene, p *player){
	"TryNext": func(s *scene, _ *player) {
		var ids []ID
		for range 2 {
			if id, err := s.g.TryNext(); err == nil {
				ids = append(ids, id)
			}
		}
		s.keep(ids)
	},
	"Next": func(s *scene, _ *player) {
		if id, err := s.g.Next(context.Background()); err == nil {
			s.keep([]ID{id})
		}
	},
	"Fill": func(s *scene, _ *player) {
		ids := make([]ID, 3)
		n, _ := s.g.Fill(context.Background(), ids)
		s.keep(ids[:n])
	},
	"Local": func(s *scene, _ *player) {
		l := s.g.Local()
		var ids []ID
		for range 4 {
			if id, err := l.TryNext(); err == nil {
				ids = append(ids, id)
			}
		}
		s.keep(ids)
	},
	"renew":   func(s *scene, _ *player) { s.l.renew(2); s.ask() },
	"replace": func(s *scene, _ *player) { s.l.replace(s.g.clock.tick()); s.ask() },
	"revoke":  func(s *scene, _ *player) { s.l.revoke() },
	"ask":     func(s *scene, _ *player) { s.ask() },
	"Close": func(s *scene, p *player) {
		if err := s.g.Close(context.Background()); err != nil {
			s.c.t.Error(err)
		}
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
		if err := next.Close(context.Background()); err != nil {
			s.c.t.Error(err)
		}
	},
}

// ask is what a caller does who found the grant used up.
func (s *scene) ask() {
	if t := s.g.cur.Load(); t.hold != nil {
		s.c.stop(afterTrack)
		s.g.ask(t, s.g.clock.tick())
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
	checkInside(t, s.g.scheme, all, s.l.given)
	checkUnique(t, slices.Concat(all, s.heirs))
	for _, id := range all {
		p, err := s.g.scheme.Decode(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.l.told {
			if p.Node == r.grant.Node && p.Tick >= r.grant.From && p.Tick < r.grant.Until && p.Tick >= r.used && !s.heldAgain(p, r) {
				t.Errorf("ID of node %d, tick %d, but the fence was told that nothing of tick %d or later of %+v was used", p.Node, p.Tick, r.used, r.grant)
			}
		}
	}
	for _, w := range s.l.wrong {
		t.Error(w)
	}
}

// heldAgain reports whether the generator got the ticks again later, by another grant.
func (s *scene) heldAgain(p Parts, r released) bool {
	return slices.ContainsFunc(s.l.given, func(g Grant) bool {
		return g.Node == p.Node && g.From > r.grant.From && p.Tick >= g.From && p.Tick < g.Until
	})
}

// scenes are tuples that together bring every two roles and every stall point together.
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
	{roles: []string{"Next", "replace", "Close"}, lead: 1, time: []time.Duration{time.Second}, deep: true},
	{roles: []string{"Next", "ask", "replace", "Close"}, deep: true},
	{roles: []string{"Next", "Next", "Close"}, deep: true, time: []time.Duration{time.Millisecond}},
	{roles: []string{"Fill", "Next"}, deep: true, time: []time.Duration{time.Millisecond}},
	{roles: []string{"TryNext", "revoke", "Close"}, deep: true},
	{roles: []string{"TryNext", "renew", "revoke"}, time: []time.Duration{time.Millisecond}},
	{roles: []string{"Local", "Fill", "Close"}, lead: 1000, time: []time.Duration{time.Second}},
	{roles: []string{"TryNext", "Fill", "Close"}, source: true, time: []time.Duration{-time.Millisecond, -time.Second}},

	{roles: []string{"Next", "Fill", "Close"}, coarse: true, time: []time.Duration{2 * time.Millisecond}},
	{roles: []string{"Next", "TryNext", "renew"}, coarse: true, time: []time.Duration{2 * time.Millisecond}},
	{roles: []string{"Next", "Local", "replace"}, coarse: true, time: []time.Duration{2 * time.Millisecond}},
	{roles: []string{"Local", "replace", "Close"}, coarse: true, lead: 1, time: []time.Duration{2 * time.Millisecond}},
	{roles: []string{"TryNext", "revoke", "Close"}, coarse: true, time: []time.Duration{2 * time.Millisecond}},

	{
		roles: []string{"TryNext", "Fill", "Close"}, source: true, spec: "time=41,rollback=2,node=8,seq=1,epoch=1999-01-01",
		time: []time.Duration{-time.Millisecond, time.Millisecond, -2 * time.Millisecond},
	},
}

// TestStallSchedules plays every scene in every schedule with one preemption, or two, at every point between two atomic steps, and checks
// the promises after each.
func TestStallSchedules(t *testing.T) {
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
				s := &scene{clock: newStepped(), l: &ledger{scheme: testScheme(t, spec), length: 3, floor: map[int64]int64{}}}
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
				if s.g, err = New(cfg); err != nil {
					t.Fatal(err)
				}
				first, err := s.g.TryNext() // opens the fast path
				if err != nil {
					t.Fatal(err)
				}
				s.keep([]ID{first})
				s.c = newConductor(t, &seen)
				for _, r := range sc.roles {
					s.c.play(r, func(p *player) { roles[r](s, p) })
				}
				s.c.clock(advance, sc.time...)
				made := s.c.run(choices)
				onStall.Store(nil)
				if err := s.g.Close(context.Background()); err != nil {
					t.Error(err)
				}
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
			t.Errorf("nobody was ever stopped at point %d", p)
		}
	}
}
