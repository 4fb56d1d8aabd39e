package snowfence

import (
	"context"
	"errors"
	"testing"
	"time"
)

// grant asks a fence, which has to answer.
func grant(t *testing.T, f Fence, after int64) Grant {
	t.Helper()
	g, err := f.Grant(t.Context(), after)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A bare number takes the first and the last node of a layout, and no other
// number.
func TestUnguardedNodes(t *testing.T) {
	s := testScheme(t, "twitter")
	for _, node := range []int64{-1, 0, s.Nodes() - 1, s.Nodes()} {
		_, err := Unguarded(s, node).Grant(t.Context(), 0)
		if inside := node >= 0 && node < s.Nodes(); inside != (err == nil) {
			t.Errorf("node %d: %v", node, err)
		}
	}
}

// A static fence grants the layout to its last tick, from what was used on.
func TestStaticTicks(t *testing.T) {
	s := testScheme(t, "twitter")
	f := Unguarded(s, 3)
	last := s.MaxTick()
	if g := grant(t, f, last); g.From != 0 || g.Until != last+1 {
		t.Errorf("granted %+v, and the last tick is %d", g, last)
	}
	if _, err := f.Grant(t.Context(), last+1); !errors.Is(err, ErrLifetime) {
		t.Errorf("past the last tick: %v", err)
	}
	for _, used := range []int64{100, 50} { // a late word lowers nothing
		if err := f.Release(t.Context(), Grant{}, used); err != nil {
			t.Fatal(err)
		}
		if g := grant(t, f, 0); g.From != 100 {
			t.Errorf("after %d was used as well, ticks from %d on are granted, not from 100", used, g.From)
		}
	}
}

// seized is a fence that takes a grant back while it hands it over.
type seized struct {
	*script
	at   int // which grant; 1 is the first, 0 means each
	asks int // grants handed over
}

func (f *seized) Grant(ctx context.Context, after int64) (Grant, error) {
	gr, err := f.script.Grant(ctx, after)
	if err == nil {
		f.asks++
	}
	if err == nil && (f.at == 0 || f.asks == f.at) {
		f.seal()
		// What is handed over is gone by now; the next one is another.
		next := gr
		next.From, next.Until = gr.Until, gr.Until+1000
		f.set(next, nil)
	}
	return gr, err
}

func (f *seized) Held(after int64) (Grant, bool) { return atHand(f, after) }

// TestRevokedBetweenBindAndInstall: a first grant that is taken back before
// the generator has it is not used, and the generator asks again, as long
// as it may wait.
func TestRevokedBetweenBindAndInstall(t *testing.T) {
	clock, s := newFakeClock(), testScheme(t, "twitter")
	now := s.Layout().TickOf(clock.wall)
	f := &seized{script: newScript(s, Grant{Node: 1, From: now, Until: now + 1000}), at: 1}
	g := newGenerator(t, Config{Fence: f, Time: clock.now})
	if gr, ok := g.Grant(); !ok || gr.From != now+1000 || f.asks != 2 {
		t.Fatalf("after %d grants the generator uses %+v, %v", f.asks, gr, ok)
	}
	f = &seized{script: newScript(s, Grant{Node: 1, From: now, Until: now + 1000})}
	_, err := New(Config{Fence: f, Time: clock.now, MaxWait: time.Millisecond})
	var w *WaitError
	if !errors.As(err, &w) || !errors.Is(err, ErrFenced) {
		t.Errorf("the error is %v", err)
	}
}

// TestRevokedBetweenAnswerAndInstall: so is a later one, and the generator
// asks again.
func TestRevokedBetweenAnswerAndInstall(t *testing.T) {
	clock, s := newFakeClock(), testScheme(t, "twitter")
	now := s.Layout().TickOf(clock.wall)
	f := &seized{script: newScript(s, Grant{Node: 1, From: now, Until: now + 1}), at: 2}
	g := newGenerator(t, Config{Fence: f, Time: clock.now})
	take(t, g, 1)
	lost := Grant{Node: 2, From: now + 1, Until: now + 1000}
	f.set(lost, nil)
	for range 2 {
		clock.advance(500 * s.Layout().Tick)
		id, err := g.TryNext() // asks for the next grant, and then has the one after it
		if err != nil {
			continue
		}
		if p, err := s.Decode(id); err != nil || p.Tick < lost.Until {
			t.Errorf("an ID of tick %d, of a grant to tick %d that was taken back (%v)", p.Tick, lost.Until, err)
		}
		return
	}
	t.Error("no ID of the grant after the one that was taken back")
}

// With rollback bits a step back shows in the timestamps, and every ID is
// still new: each step takes another value, until none is left whose word
// is not ahead of the clock.
func TestRollbackStampsTheTrueTime(t *testing.T) {
	s := testScheme(t, "rollback")
	clock := newFakeClock()
	g := newGenerator(t, Config{Fence: Unguarded(s, 200), Time: clock.now})
	var all []ID
	for round := range 4 {
		ids := take(t, g, 6)
		for i, id := range ids {
			p, _ := s.Decode(id)
			if p.Rollback != int64(round) || p.Time.UnixMilli() != clock.wall.UnixMilli() {
				t.Fatalf("round %d, ID %d: %+v, want rollback %d at %v", round, i, p, round, clock.wall)
			}
		}
		checkIncreasing(t, ids)
		all = append(all, ids...)
		clock.step(-time.Second)
	}
	_, err := g.TryNext()
	if w := isReason(t, err, ErrExhausted); !w.Behind {
		t.Errorf("after as many steps back as there are values: %+v", w)
	}
	// The first value whose word is not ahead is free again, and its ticks
	// go on where they ended.
	clock.step(time.Second + time.Millisecond)
	ids := take(t, g, 6)
	if p, _ := s.Decode(ids[0]); p.Rollback != 3 || p.Time.UnixMilli() != clock.wall.UnixMilli() {
		t.Errorf("%+v, want rollback 3 at %v", p, clock.wall)
	}
	all = append(all, ids...)
	clock.step(time.Hour)
	all = append(all, take(t, g, 6)...)
	clock.step(-time.Minute)
	ids = take(t, g, 6)
	if p, _ := s.Decode(ids[0]); p.Rollback != 0 {
		t.Errorf("%+v, want the next value", p)
	}
	checkUnique(t, append(all, ids...))
}

func TestRollbackAfterALossStartsAboveAllValues(t *testing.T) {
	s := testScheme(t, "rollback")
	clock := newFakeClock()
	now := s.Layout().TickOf(clock.wall)
	f := newScript(s, Grant{Node: 1, From: now - 5000, Until: now + 1000})
	g := newGenerator(t, Config{Fence: f, Time: clock.now})
	ids := take(t, g, 5)
	clock.step(-time.Second)
	ids = append(ids, take(t, g, 5)...)
	f.set(Grant{}, nil)
	f.seal()
	// A fence that hands the same node out again from where it began is
	// wrong, and no duplicate comes of it.
	f.set(Grant{Node: 1, From: now - 4000, Until: now + 2000}, nil)
	clock.step(2 * time.Second)
	id, err := g.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clock.step(-1500 * time.Millisecond)
	ids = append(append(ids, id), takeSome(g, 5)...)
	checkUnique(t, ids)
}

// A generator takes another rollback value where its word is a tick or more
// too far and the other's is not ahead of the clock, and only while its
// hold is not sealed and the clock is in its grant.
func TestSwitchRollback(t *testing.T) {
	const span = 16
	s := testScheme(t, "time=40,node=3,rollback=2,seq=4")
	for name, c := range map[string]struct {
		word, next, last uint64 // of the present value, of the next one, and of the two others
		tick             int64
		want             int // by how many values it moves
	}{
		"a tick too far":               {word: 7 * span, next: 5 * span, tick: 105, want: 1},
		"less than a tick too far":     {word: 7*span - 1, next: 5 * span, tick: 105},
		"the next one is ahead":        {word: 7 * span, next: 5*span + 1, last: 5 * span, tick: 105, want: 2},
		"all are ahead":                {word: 7 * span, next: 5*span + 1, last: 5*span + 1, tick: 105},
		"at the first tick":            {word: 3 * span, tick: 100, want: 1},
		"before the first tick":        {word: 3 * span, tick: 99},
		"its word is sealed":           {word: sealed, tick: 105},
		"its word is sealed and added": {word: sealed + 3, tick: 105},
	} {
		clock := newFakeClock()
		clock.wall = s.Layout().TimeOf(100)
		g := newGenerator(t, Config{Fence: newScript(s, Grant{Node: 1, From: 100, Until: 200}), Time: clock.now})
		present := g.cur.Load()
		tracks := present.hold.tracks
		for i, word := range []uint64{c.word, c.next, c.last, c.last} {
			tracks[i].word.Store(word)
		}
		now, bound := present.window(c.tick, 0, present.end.Load())
		if moved := g.switchRollback(present, c.tick, now, bound); moved != (c.want > 0) ||
			g.cur.Load() != tracks[c.want] {
			t.Errorf("%s: moved %t", name, moved)
		}
	}
}

// takeSome returns up to n IDs from TryNext.
func takeSome(g *Generator, n int) (ids []ID) {
	for range n {
		if id, err := g.TryNext(); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
