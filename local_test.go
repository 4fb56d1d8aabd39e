package snowfence

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/internal/clock"
)

// A handle gives its block out one by one, in its tick, and nothing of it when the tick is over.
func TestHandlesLoseNothingInTheirTick(t *testing.T) {
	for _, coarse := range []bool{false, true} {
		for _, source := range []bool{false, true} {
			for _, cipher := range []string{"", ",cipher=sparx"} {
				synctest.Test(t, func(t *testing.T) {
					s, clock := testScheme(t, "time=40,node=2,seq=12,epoch=1999-01-01"+cipher), newStepped()
					now := s.Layout().TickOf(time.Now())
					c := Config{Fence: newScript(s, Grant{Node: 1, From: now, Until: now + 90}), Coarse: coarse}
					if source {
						c.Time = clock.now
					}
					g := newGenerator(t, c)
					l := g.Local()
					for i := range int64(1500) {
						next := l.TryNext
						if i%3 == 0 {
							next = func() (ID, error) { return l.Next(t.Context()) }
						}
						id, err := next()
						if tick, seq := inTick(t, s, now, id, err); tick != 0 || seq != i {
							t.Fatalf("%+v: ID %d is number %d of tick %d", c, i, seq, tick)
						}
					}
					if !l.some() {
						t.Fatal("the block is used up: the test sees nothing")
					}
					time.Sleep(time.Millisecond)
					synctest.Wait() // the ticker ran
					id, err := l.TryNext()
					if tick, seq := inTick(t, s, now, id, err); tick != 1 || seq != 0 {
						t.Errorf("%+v: when a tick begins: number %d of tick %d", c, seq, tick)
					}
				})
			}
		}
	}
}

// Blocks grow while they are used up in their tick, and shrink when most of one is lost: of its
// piece, of the IDs encrypted ahead, or of what lies behind the piece.
func TestHandlesTakeBlocksThatFit(t *testing.T) {
	for _, c := range []struct {
		spec string
		take int    // IDs of the handle, before a pause of ten seconds
		size uint64 // of the block that the last one is of
		want uint64 // of the next one
	}{
		{"time=40,node=2,seq=21", 2, 2, 4},
		{"time=40,node=2,seq=21", 3, 4, 2},
		{"time=40,node=2,seq=21", 4, 4, 4},
		{"time=40,node=2,seq=21", 6, 4, 8},
		{"time=40,node=2,seq=21", 2 + 4 + 8 + 8, 16, 16},
		{"time=40,node=2,seq=21", 2 + 4 + 8 + 7, 16, 8},
		{"time=40,node=2,seq=21", 2046 + 1024, 1024, 1024},
		{"time=40,node=2,seq=21,cipher=sparx", 2 + 4 + 8 + 8, 16, 16},
		{"time=40,node=2,seq=21,cipher=sparx", 2 + 4 + 8 + 7, 16, 8},
		{"time=40,node=2,seq=2", 2 + 4 + 8 + 8, 16, 16}, // four pieces
		{"time=40,node=2,seq=2", 2 + 4 + 8 + 7, 16, 16},
		{"time=40,node=2,seq=2", 2 + 4 + 8 + 1, 16, 8},
	} {
		s, clock := testScheme(t, c.spec), newFakeClock()
		g := newGenerator(t, Config{Fence: Unguarded(s, 1), Time: clock.now, Lead: 1000})
		l := g.Local()
		for range c.take {
			must(l.TryNext())
		}
		if l.size != c.size {
			t.Errorf("%s: %d IDs in, the block has %d", c.spec, c.take, l.size)
		}
		clock.advance(10 * time.Second)
		must(l.TryNext())
		if l.size != c.want {
			t.Errorf("%s: after a block of %d, with %d IDs in all: %d, want %d", c.spec, c.size, c.take, l.size, c.want)
		}
	}
}

// A handle keeps its block until its tick is over, and looks at the clock only when that may be so.
func TestHandlesLookAtTheClockWhenTheyHaveTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(t, "time=30,node=2,seq=21,tick=1h,epoch=1999-01-01")
		now := s.Layout().TickOf(time.Now())
		for _, coarse := range []bool{false, true} {
			f := newScript(s, Grant{Node: 1, From: now - 9, Until: now + 9})
			g := newGenerator(t, Config{Fence: f, Coarse: coarse})
			g.ticking.Store(true) // no ticker: nothing else reads the clock
			l := g.Local()
			var next int64
			looks := func(at string, n int, want bool) {
				readings := counting(&g.clock)
				for range n {
					id, err := l.TryNext()
					if tick, seq := inTick(t, s, now, id, err); tick != 0 || seq != next {
						t.Errorf("coarse %t, %s: number %d of tick %d, want %d", coarse, at, seq, tick, next)
					}
					next++
				}
				if g.clock.Source = nil; *readings > 0 != want {
					t.Errorf("coarse %t, %s: the clock was read %d times", coarse, at, *readings)
				}
			}
			for range 31 { // blocks of 2, 4, 8, 16, and the first of 32
				must(l.TryNext())
				next++
			}
			looks("in a new block", 9, false)
			if coarse {
				l.sure = 0
				looks("whatever an exact one knows", 9, false)
				continue
			}
			time.Sleep(clock.SyncEvery)
			must(l.TryNext())
			next++
			looks("after the clock was compared", 9, false)
			must(l.TryNext())
			l.sure = 1 // as if the tick might be over
			next++
			looks("when the tick may be over", 1, true)
		}
	})
}

// What is left of a block whose tick is over stays unused, also when the clock was read for it.
func TestHandleOfAnEarlierTick(t *testing.T) {
	spec := "time=30,node=5,seq=20,tick=1h,epoch=2020-01-01"
	g := newGenerator(t, Config{Fence: Unguarded(testScheme(t, spec), 0)})
	h := g.Local()
	for range 10 {
		if _, err := h.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	h.tick, h.sure = h.tick-1, 0
	for range 2 {
		if h.current() {
			t.Fatal("a block of the tick before is used")
		}
	}
}
