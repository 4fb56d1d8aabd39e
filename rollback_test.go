package snowfence

import (
	"testing"
	"time"
)

// With rollback bits a step back shows in the timestamps, and every ID is still new: each
// step takes another value, until none is left whose word is not ahead of the clock.
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
	// The first value whose word is not ahead is free again, and its ticks go on where they ended.
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
	// A fence that hands the same node out again from where it began is wrong, and no
	// duplicate comes of it.
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

// A generator takes another rollback value where its word is a tick or more too far and
// the other's is not ahead of the clock, and only while its hold is not sealed and the
// clock is in its grant.
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
