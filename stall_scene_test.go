//go:build snowfence_stall

package snowfence

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

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

// span is a call of the generator: one that ended before another began has the lower ID.
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
		if err := s.g.Close(); err != nil {
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
		if err := next.Close(); err != nil {
			s.c.t.Error(err)
		}
	},
}

// ask is what a caller does who found the grant used up.
func (s *scene) ask() {
	if t := s.g.cur.Load(); t.hold != nil {
		s.c.stop(afterTrack)
		s.g.ask(t, s.g.clock.Tick(), s.g.clock.Corrections())
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
		p, err := s.g.scheme.Decode(id)
		if err != nil {
			t.Fatal(err)
		}
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

// heldAgain reports whether the generator got the ticks again later, by another grant.
func (s *scene) heldAgain(p Parts, r released) bool {
	return slices.ContainsFunc(s.l.given, func(g Grant) bool {
		return g.Node == p.Node && g.From > r.grant.From && p.Tick >= g.From && p.Tick < g.Until
	})
}
