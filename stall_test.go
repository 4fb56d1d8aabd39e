//go:build snowfence_stall

package snowfence

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// stallSpec has two sequence numbers, so that a few calls fill a tick.
const stallSpec = "time=41,node=10,seq=1,epoch=1999-01-01"

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

// TestStallSchedules plays every scene in every schedule with one preemption, or two, at
// every point between two atomic steps, and checks the promises after each.
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
						scheme: testScheme(t, spec),
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
				if err := s.g.Close(); err != nil {
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
			t.Errorf("no goroutine was ever stopped at point %d", p)
		}
	}
}
