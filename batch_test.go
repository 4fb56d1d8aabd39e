package snowfence

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/internal/clock"
)

// counting makes a clock count how often it is read. Readings of the
// system's own clock in a fast path do not count.
func counting(c *clock.Clock) (readings *int) {
	readings = new(int)
	source := c.Source
	c.Source = func() (time.Time, time.Duration) {
		*readings++
		if source == nil {
			return time.Now(), time.Since(c.Base)
		}
		return source()
	}
	return readings
}

// inTick is which tick after the first, and which number in it.
func inTick(t *testing.T, s *Scheme, first int64, id ID, err error) (tick, seq int64) {
	t.Helper()
	noError(t, err)
	p := must(s.Decode(id))
	return p.Tick - first, p.Sequence
}

// IDs made ahead are given out one after the other: none is left out while
// its tick lasts, and none of a tick that is over.
func TestBatchesLoseNothingInTheirTick(t *testing.T) {
	for _, coarse := range []bool{false, true} {
		for _, source := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s, clock := testScheme("time=40,node=2,seq=12,epoch=1999-01-01,cipher=sparx"), newStepped()
				now := s.Layout().TickOf(time.Now())
				f := newScript(s, Grant{Node: 1, From: now, Until: now + 90})
				c := Config{Fence: f, Coarse: coarse}
				if source {
					c.Time = clock.now
				}
				g := newGenerator(t, c)
				for i := range int64(1500) {
					next := g.TryNext
					if i%3 == 0 {
						next = func() (ID, error) { return g.Next(t.Context()) }
					}
					id, err := next()
					if tick, seq := inTick(t, s, now, id, err); tick != 0 || seq != i {
						t.Fatalf("%+v: ID %d is number %d of tick %d", c, i, seq, tick)
					}
				}
				if b := g.batch.Load(); b.next.Load() == b.count {
					t.Fatal("the batch is used up: the test sees nothing")
				}
				time.Sleep(time.Millisecond)
				synctest.Wait() // the ticker ran
				id, err := g.TryNext()
				if tick, seq := inTick(t, s, now, id, err); tick != 1 || seq != 0 {
					t.Errorf("%+v: when a tick begins: number %d of tick %d", c, seq, tick)
				}
			})
		}
	}
}

// A batch ends with its grant, and with the rollback value that its
// generator goes on from.
func TestBatchesEndWithTheirGrant(t *testing.T) {
	s, clock := testScheme("time=41,rollback=2,node=7,seq=13,cipher=sparx"), newFakeClock()
	now := s.Layout().TickOf(clock.Wall)
	f := newScript(s, Grant{Node: 1, From: now - 9999, Until: now + 9999})
	g := newGenerator(t, Config{Fence: f, Time: clock.Now, MaxWait: -1, Lead: 3})
	take(t, g, 3)
	clock.Step(-3 * time.Millisecond)
	id, err := g.TryNext()
	if tick, seq := inTick(t, s, now, id, err); tick != 0 || seq != 3 {
		t.Errorf("after a step back within the lead: number %d of tick %d", seq, tick)
	}
	for i := range int64(2) { // by the batch, or by another call before it
		clock.Step(-time.Second)
		must(g.Fill(t.Context(), make([]ID, i)))
		id, err := g.TryNext()
		if tick, _ := inTick(t, s, now, id, err); tick != -1003-1000*i {
			t.Errorf("after %d steps back of a second: tick %d", i+1, tick)
		}
	}
	take(t, g, 4)
	if b := g.batch.Load(); b.next.Load() == b.count {
		t.Fatal("the batch is used up: the test sees nothing")
	}
	f.set(Grant{}, errTaken)
	f.seal()
	wantErr(t, errOf(g.TryNext()), ErrFenced, "after the grant was lost")
}

// Batches grow while they are used up in their tick, and shrink when most
// of one is lost. A call that finds nothing to take changes nothing.
func TestBatchesHaveTheSizeThatFits(t *testing.T) {
	s, clock := testScheme("time=40,node=2,seq=10,cipher=sparx"), newFakeClock()
	g := newGenerator(t, Config{Fence: Unguarded(s, 1), Time: clock.Now})
	for _, c := range []struct {
		used uint64 // of the batch in hand, before a pause of some ticks
		want uint64 // how many the next one has
	}{
		{0, 2},
		{2, 4},
		{4, 8},
		{4, 8},
		{3, 4},
		{4, 8},
		{8, 16},
		{16, 32},
		{32, 64},
		{64, 128},
		{128, 256},
		{256, 256},
		{1, 128},
	} {
		b := g.batch.Load()
		for b.next.Load() < c.used {
			take(t, g, 1)
		}
		if c.used < b.count {
			clock.Advance(4 * time.Millisecond)
		}
		take(t, g, 1)
		if b := g.batch.Load(); b.count != c.want || b.next.Load() != 1 {
			t.Errorf("after %d that were used: %d IDs, %d used", c.used, b.count, b.next.Load())
		}
	}
	for range 3 {
		if _, err := takeAll(t, g, 1024); !errors.Is(err, ErrExhausted) || g.batchLen > 256 {
			t.Errorf("%v; the last batch had %d", err, g.batchLen)
		}
	}
	clock.Advance(time.Millisecond)
	take(t, g, 1)
	before := g.batchLen
	g.cur.Load().word.Add(2048) // the tick and the next one are used up by others
	g.batch.Load().next.Store(before)
	for range 5 {
		if _, err := g.TryNext(); !errors.Is(err, ErrExhausted) || g.batchLen != before {
			t.Errorf("%v; the last batch had %d, and now %d", err, before, g.batchLen)
		}
	}
}

// A call that is late for a new batch takes from the batch that another
// call made.
func TestBatchOfSomebodyElse(t *testing.T) {
	s, clock := testScheme("time=40,node=2,seq=21,cipher=sparx"), newFakeClock()
	now := s.Layout().TickOf(clock.Wall)
	g := newGenerator(t, Config{Fence: newScript(s, Grant{Node: 1, From: now, Until: now + 9}), Time: clock.Now})
	old := g.batch.Load()
	take(t, g, 3)
	b := g.batch.Load()
	id, ok := g.newBatch(old)
	if _, seq := inTick(t, s, now, id, nil); !ok || seq != 3 || g.batch.Load() != b {
		t.Errorf("number %d, %t", seq, ok)
	}
}

// A batch is used without a look at the clock until its tick may be over,
// or the clock has to be compared.
func TestBatchesLookAtTheClockWhenTheyHaveTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme("time=30,node=2,seq=21,tick=1h,epoch=1999-01-01,cipher=sparx")
		g := newGenerator(t, Config{Fence: Unguarded(s, 1)})
		take(t, g, 63) // batches of 2, 4, 8, 16, 32, and the first of 64
		looks := func(at string, n int, want bool) {
			own := g.clock.Source
			readings := counting(&g.clock)
			take(t, g, n)
			if g.clock.Source = own; *readings > 0 != want {
				t.Errorf("%s the clock was read %d times", at, *readings)
			}
		}
		looks("in a new batch", 9, false)
		time.Sleep(clock.SyncEvery)
		looks("when the clock has to be compared", 1, true)
		take(t, g, 1)
		looks("after that", 9, false)

		coarse := newGenerator(t, Config{Fence: Unguarded(s, 2), Coarse: true})
		coarse.ticking.Store(true) // no ticker: nothing else reads the clock
		take(t, coarse, 100)
		tr := coarse.cur.Load()
		g = coarse
		looks("in the middle of a coarse batch", 9, false)
		tr.closeFastPath()
		looks("when no ticker keeps the time", 1, true)
	})
}

// A handle gives its block out one by one, in its tick, and nothing of it
// when the tick is over.
func TestHandlesLoseNothingInTheirTick(t *testing.T) {
	for _, coarse := range []bool{false, true} {
		for _, source := range []bool{false, true} {
			for _, cipher := range []string{"", ",cipher=sparx"} {
				synctest.Test(t, func(t *testing.T) {
					s, clock := testScheme("time=40,node=2,seq=12,epoch=1999-01-01"+cipher), newStepped()
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
					if !l.hasID() {
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

// Blocks grow while they are used up in their tick, and shrink when most of
// one is lost: of its piece, of the IDs encrypted ahead, or of what lies
// behind the piece.
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
		s, clock := testScheme(c.spec), newFakeClock()
		g := newGenerator(t, Config{Fence: Unguarded(s, 1), Time: clock.Now, Lead: 1000})
		l := g.Local()
		for range c.take {
			must(l.TryNext())
		}
		if l.size != c.size {
			t.Errorf("%s: %d IDs in, the block has %d", c.spec, c.take, l.size)
		}
		clock.Advance(10 * time.Second)
		must(l.TryNext())
		if l.size != c.want {
			t.Errorf("%s: after a block of %d, with %d IDs in all: %d, want %d", c.spec, c.size, c.take, l.size, c.want)
		}
	}
}

// A handle keeps its block until its tick is over, and looks at the clock
// only when that may be so.
func TestHandlesLookAtTheClockWhenTheyHaveTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme("time=30,node=2,seq=21,tick=1h,epoch=1999-01-01")
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
