package snowfence

import (
	"errors"
	"testing"
	"time"
)

// The window of a tick is cut to the grant on both sides, and the lead moves its end alone.
func TestWindow(t *testing.T) {
	tr := &track{from: 100, span: 16}
	for until := range int64(6) {
		for tick := int64(90); tick < 112; tick++ {
			for lead := range int64(5) {
				var now, bound uint64 // counted tick by tick
				for at := int64(100); at < 100+until; at++ {
					if at < tick {
						now += 16
					}
					if at <= tick+lead {
						bound += 16
					}
				}
				if a, b := tr.window(tick, lead, uint64(until)*16); a != now || b != bound {
					t.Errorf("tick %d, lead %d, until %d: %d and %d, want %d and %d", tick, lead, 100+until, a, b, now, bound)
				}
			}
		}
	}
}

// What is in the way of a position says what would remove it: a grant past a tick, or the clock at a tick.
func TestObstacles(t *testing.T) {
	const from, span, lead, until = 100, 16, 2, 130
	s := testScheme(t, "time=10,node=3,seq=4,tick=1s,epoch=1999-01-01")
	for _, c := range []struct {
		word   uint64
		tick   int64
		ask    bool
		after  int64
		need   int64
		wait   time.Duration
		behind bool
	}{
		{word: 30 * span, tick: 105, ask: true, after: 130},
		{word: 30*span + 17, tick: 105, ask: true, after: 131},
		{word: 30 * span, tick: 140, ask: true, after: 140},
		{word: 0, tick: 1023, ask: true, after: 1023},
		{word: sealed, tick: 105, ask: true, after: 105},
		{word: sealed + 5, tick: 105, ask: true, after: 105},
		{word: sealed, tick: -7, ask: true, after: 0},
		{word: 30*span - 1, tick: 126, need: 127, wait: time.Second},
		{word: 30*span - 1, tick: 125, need: 127, wait: 2 * time.Second, behind: true},
		{word: 20*span + 3, tick: 105, need: 118, wait: 13 * time.Second, behind: true},
		{word: 0, tick: 99, need: 98, wait: 20 * time.Microsecond, behind: true},
		{word: 0, tick: 100, need: 98, wait: 20 * time.Microsecond},
	} {
		clock := newFakeClock()
		clock.wall = s.Layout().TimeOf(100)
		g := newGenerator(t, Config{Fence: newScript(s, Grant{Node: 1, From: from, Until: until}), Time: clock.now, Lead: lead})
		g.clock.raw = true
		clock.wall = s.Layout().TimeOf(c.tick)
		tr := g.cur.Load()
		tr.word.Store(c.word)
		now, _ := tr.window(c.tick, lead, until*span-from*span)
		got := g.obstacle(tr, c.tick, now, tr.end.Load())
		want := obstacle{ask: c.ask, after: c.after, need: c.need, wait: c.wait, behind: c.behind}
		if got != want {
			t.Errorf("word %d, tick %d: %+v, want %+v", c.word, c.tick, got, want)
		}
		if over := g.obstacle(tr, 1024, 30*span, tr.end.Load()); c.ask && !errors.Is(over.err, ErrLifetime) {
			t.Errorf("word %d: after the last tick: %+v", c.word, over)
		}
		tr.word.Store(0)
	}
}

// The fast path of a tick is open up to the soft bound, from which on every call asks for the next grant.
func TestPublish(t *testing.T) {
	for _, c := range []struct {
		tick  int64
		bound uint64
		limit uint64
	}{
		{100, 16, 16},
		{118, 19 * 16, 19 * 16},
		{119, 20 * 16, 20 * 16},
		{119, 25 * 16, 20 * 16},
		{120, 25 * 16, 7},
		{125, 25 * 16, 7},
	} {
		tr := &track{from: 100, span: 16}
		tr.soft.Store(20)
		tr.limit.Store(7)
		tr.publish(c.tick, 99, c.bound)
		if tr.limit.Load() != c.limit || (tr.sure.Load() == 99) != (c.limit != 7) {
			t.Errorf("%+v: limit %d, sure %d", c, tr.limit.Load(), tr.sure.Load())
		}
	}
}
