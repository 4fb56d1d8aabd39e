package snowfence

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The fast path stamps the present tick, also at the very instant at which
// a tick begins, and gives each position of a tick.
func TestFastPathAtTheEdgesOfATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme("time=41,node=10,seq=4,epoch=1999-01-01")
		now := s.Layout().TickOf(time.Now())
		g := newGenerator(t, Config{Fence: newScript(s, Grant{Node: 7, From: now, Until: now + 90})})
		for tick := now; tick < now+50; tick++ {
			ids, err := takeAll(t, g, 17)
			if len(ids) != 16 || !errors.Is(err, ErrExhausted) {
				t.Fatalf("%d IDs in tick %d, then %v", len(ids), tick, err)
			}
			for i, id := range ids {
				if id != must(s.Compose(Parts{Tick: tick, Node: 7, Sequence: int64(i)})) {
					t.Fatalf("ID %d of tick %d is %d", i, tick, id)
				}
			}
			time.Sleep(time.Millisecond)
		}
		// In the middle of a tick the clock is not looked at.
		take(t, g, 3)
		time.Sleep(999 * time.Microsecond)
		if id, ok := g.tryExact(); !ok || id != must(s.Compose(Parts{Tick: now + 50, Node: 7, Sequence: 3})) {
			t.Errorf("%d, %t: the tick is not over", id, ok)
		}
		time.Sleep(time.Microsecond)
		if id, ok := g.tryExact(); ok {
			t.Errorf("%d: the tick is over", id)
		}
	})
}

// Each fast path gives the positions below the limit and none at it,
// whatever form they have, and Next and TryNext lose none.
func TestFastPathsStopAtTheLimit(t *testing.T) {
	for _, gr := range []Grant{{Node: 5}, {Node: 5, FirstSeq: 2, LastSeq: 14}} {
		for _, coarse := range []bool{false, true} {
			s, clock := testScheme("time=41,node=10,seq=4,epoch=1999-01-01"), newFakeClock()
			now := s.Layout().TickOf(clock.Wall)
			gr.From, gr.Until = now, now+1000
			g := newGenerator(t, Config{Fence: newScript(s, gr), Time: clock.Now, Coarse: coarse, Lead: 100})
			try := g.tryExact
			if coarse {
				try = g.tryCoarse
			}
			tr := g.cur.Load()
			tr.closeFastPath()
			if id, ok := try(); ok || tr.word.Load() != 0 {
				t.Errorf("coarse %t: %d, %t, and the word moved to %d without a limit", coarse, id, ok, tr.word.Load())
			}
			tr.limit.Store(6)
			tr.sure.Store(math.MaxInt64)
			for pos := range uint64(6) {
				var id ID
				var err error
				switch pos {
				case 2:
					id, err = g.TryNext()
				case 3:
					id, err = g.Next(t.Context())
				default:
					id, _ = try()
				}
				if err != nil || id != tr.id(pos) || tr.word.Load() != pos+1 {
					t.Errorf("coarse %t: position %d is %d, want %d; the word is %d",
						coarse, pos, id, tr.id(pos), tr.word.Load())
				}
			}
			if id, ok := try(); ok || !coarse && tr.word.Load() != 6 {
				t.Errorf("coarse %t: %d above the limit, and the word is %d", coarse, id, tr.word.Load())
			}
			ids := take(t, g, 1)
			if coarse && ids[0] != tr.id(8) || !coarse && ids[0] != tr.id(6) {
				t.Errorf("coarse %t: the next ID is %d", coarse, ids[0])
			}
		}
	}
}

// patient is a fence that needs a while for an answer, and notes what it is
// asked.
type patient struct {
	*script
	after []int64
}

func (f *patient) Grant(ctx context.Context, after int64) (Grant, error) {
	f.after = append(f.after, after)
	select {
	case <-time.After(500 * time.Millisecond):
		return f.script.Grant(ctx, after)
	case <-ctx.Done():
		return Grant{}, ctx.Err()
	}
}

func (f *patient) Held(after int64) (Grant, bool) { return atHand(f, after) }

// The first grant is waited for also by generators that wait for nothing
// later, and the fence is asked for no tick below 0.
func TestFirstGrantIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, clock := testScheme(bubbleSpec), newStepped()
		f := &patient{script: newScript(s, Grant{Node: 1, Until: 1 << 40})}
		newGenerator(t, Config{Fence: f, MaxWait: -1, Time: clock.now})
		if _, err := New(Config{
			Fence: &patient{script: newScript(s, Grant{Until: 1 << 40})}, MaxWait: 499 * time.Millisecond,
		}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with less time than the fence needs: %v", err)
		}
		clock.step(time.Until(s.Layout().Epoch) - 4*time.Millisecond)
		early := &patient{script: newScript(s, Grant{Node: 1, Until: 1 << 40})}
		newGenerator(t, Config{Fence: early, Lead: 5, Time: clock.now})
		if !slices.Equal(early.after, []int64{0}) {
			t.Errorf("the fence was asked for ticks after %v", early.after)
		}
	})
}

// A generator needs a scheme, takes a lead of up to 2^40 ticks, and shows
// no grant after its end.
func TestGeneratorAtTheEdgesOfItsConfig(t *testing.T) {
	s := testScheme("twitter")
	fails(t, errOf(New(Config{Fence: newScript(nil, Grant{Until: 1 << 40})})), "a fence without a scheme was accepted")
	g := newGenerator(t, Config{Fence: Unguarded(s, 1), Lead: 1 << 40})
	if gr, ok := g.Grant(); !ok || gr.Node != 1 {
		t.Errorf("%+v, %t", gr, ok)
	}
	g.Close()
	if gr, ok := g.Grant(); ok {
		t.Errorf("after Close: %+v", gr)
	}
	fails(t, errOf(New(Config{Fence: Unguarded(s, 1), Lead: 1<<40 + 1})), "a lead above the highest was accepted")
}

// Fill takes no more than it has room for, also where it waits for the next
// tick in the middle.
func TestFillOverSomeTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme("time=41,node=10,seq=4,epoch=1999-01-01")
		now := s.Layout().TickOf(time.Now())
		g := newGenerator(t, Config{Fence: newScript(s, Grant{Node: 7, From: now, Until: now + 90})})
		dst := make([]ID, 24)
		if n, err := g.Fill(t.Context(), dst); n != 24 || err != nil {
			t.Fatal(n, err)
		}
		for i, id := range append(dst, take(t, g, 8)...) {
			if id != must(s.Compose(Parts{Tick: now + int64(i/16), Node: 7, Sequence: int64(i % 16)})) {
				t.Errorf("ID %d is %d", i, id)
			}
		}
	})
}

// A run without a step, or one that ends before it begins, has no IDs. A
// reader of a run may stop.
func TestRunsOfNoIDs(t *testing.T) {
	for _, c := range []struct {
		run  Run
		want int64
	}{
		{Run{5, 5, 1}, 1},
		{Run{5, 5, 7}, 1},
		{Run{5, 11, 2}, 4},
		{Run{5, 4, 1}, 0},
		{Run{9, 5, 1}, 0},
		{Run{5, 9, 0}, 0},
		{Run{5, 9, -1}, 0},
		{Run{math.MinInt64, math.MaxInt64, math.MaxInt64}, 3},
	} {
		var got []ID
		for id := range c.run.All() {
			if got = append(got, id); len(got) == 3 {
				break
			}
		}
		if c.run.Len() != c.want || int64(len(got)) != min(c.want, 3) || len(got) > 0 && got[0] != c.run.First {
			t.Errorf("%+v has %d IDs, want %d: %v", c.run, c.run.Len(), c.want, got)
		}
	}
}

// A coarse generator may go on without a look at the clock for as many IDs
// as it made in the last millisecond, within what it may take now, and up
// to the soft bound.
func TestPublishCoarse(t *testing.T) {
	const span, soft = 1 << 20, 20
	s, clock := testScheme("time=40,node=2,seq=20"), newFakeClock()
	f := newScript(s, Grant{Node: 1, From: 0, Until: 1 << 39})
	g := newGenerator(t, Config{Fence: f, Time: clock.Now, Coarse: true})
	g.ticking.Store(true) // no ticker
	clock.Advance(time.Hour)
	ns := g.clock.Elapsed()
	tr := &track{hold: g.cur.Load().hold, from: 100, span: span}
	tr.soft.Store(soft)
	for _, c := range []struct {
		last          uint64        // the word when the clock was last looked at
		ago           time.Duration // and when that was
		before, after uint64
		tick          int64
		bound         uint64
		quota         uint64 // 0 for a limit of 0
	}{
		{last: 5, ago: time.Millisecond, before: 5005, after: 5006, tick: 101, bound: 2 * span, quota: 5000},
		{last: 5, ago: 10 * time.Millisecond, before: 5005, after: 5006, tick: 101, bound: 2 * span, quota: 500},
		{last: 5, ago: 100 * time.Microsecond, before: 5005, after: 5006, tick: 101, bound: 2 * span, quota: 50000},
		{last: 5, ago: time.Millisecond, before: 68, after: 70, tick: 101, bound: 2 * span, quota: minQuota},
		{last: 5, ago: time.Millisecond, before: 70, after: 70, tick: 101, bound: 2 * span, quota: minQuota + 1},
		{last: 5, ago: 0, before: 100, after: 100, tick: 101, bound: 2 * span, quota: maxQuota},
		{last: 5, ago: 0, before: 5, after: 6, tick: 101, bound: 2 * span, quota: minQuota},
		{last: 500, ago: time.Millisecond, before: 5, after: 6, tick: 101, bound: 2 * span, quota: minQuota},
		{last: 0, ago: time.Hour, before: 1 << 59, after: 6, tick: 101, bound: 2 * span, quota: maxQuota},
		{last: 0, ago: time.Hour, before: 1<<40 + 3_600_000*77, after: 6, tick: 101, bound: 2 * span, quota: maxQuota},
		{last: 5, ago: time.Millisecond, before: 5005, after: 5006, tick: 100 + soft - 1, bound: 30 * span, quota: 5000},
		{last: 5, ago: time.Millisecond, before: 5005, after: 5006, tick: 100 + soft, bound: 30 * span, quota: 0},
		{last: 5, ago: time.Millisecond, before: 5005, after: soft*span - 9, tick: 101, bound: 30 * span, quota: 9},
		{last: 5, ago: time.Millisecond, before: 5005, after: 2*span - 9, tick: 101, bound: 2 * span, quota: 9},
	} {
		tr.pubPos.Store(c.last)
		tr.pubNs.Store(ns - int64(c.ago))
		g.publishCoarse(tr, c.tick, c.before, c.after, c.bound)
		want := c.after + c.quota
		if c.quota == 0 {
			want = 0
		}
		if got := tr.limit.Load(); got != want {
			t.Errorf("%+v: limit %d, want %d", c, got, want)
		}
		tick, pos, at := tr.coarse.Load(), tr.pubPos.Load(), tr.pubNs.Load()
		if tick != c.tick-100 || pos != c.after || at != ns {
			t.Errorf("%+v: tick %d, word %d, time %d, want %d", c, tick, pos, at, ns)
		}
	}
}

// A ticker looks at the clock once a tick, at least each millisecond and at
// most every ten, and a while after the last time where it came late.
func TestTickerKeepsItsPace(t *testing.T) {
	for _, c := range []struct {
		spec   string
		period time.Duration
	}{
		{"time=41,node=2,seq=8,tick=100us", time.Millisecond},
		{"time=41,node=2,seq=8,tick=1ms", time.Millisecond},
		{"time=41,node=2,seq=8,tick=3ms", 3 * time.Millisecond},
		{"time=30,node=2,seq=8,tick=1h", 10 * time.Millisecond},
	} {
		g, w, clock := ticker(t, c.spec, 0)
		late := []time.Duration{0, c.period / 4, c.period, c.period * 5 / 4, 0}
		w.during = func(d time.Duration) int {
			clock.Advance(d)
			g.cur.Load().word.Add(1) // another call takes
			if n := len(w.waits); n <= len(late) {
				w.at = w.at.Add(late[n-1])
				return -1
			}
			g.world = w.World
			noError(t, g.Close())
			return -1
		}
		g.keepTime()
		want := []time.Duration{c.period, c.period, c.period * 3 / 4, 0, c.period, c.period}
		if !slices.Equal(w.waits, want) {
			t.Errorf("%s: waits of %v, want %v", c.spec, w.waits, want)
		}
	}
}

// ticker is a coarse generator whose ticker the test runs itself.
func ticker(t *testing.T, spec string, lead int64) (*Generator, *paced, *fakeClock) {
	t.Helper()
	s, clock := testScheme(spec), newFakeClock()
	now := s.Layout().TickOf(clock.Wall)
	f := newScript(s, Grant{Node: 1, From: now, Until: now + 9000})
	g := newGenerator(t, Config{Fence: f, Time: clock.Now, Coarse: true, Lead: lead})
	g.ticking.Store(true)
	w := newPaced(t)
	w.World, g.world = g.world, w
	return g, w, clock
}

// A ticker moves the word to the present tick, and never back. It parks
// after two rounds in which no call took anything.
func TestTickerMovesTheWordAndParks(t *testing.T) {
	const span = 256
	g, w, clock := ticker(t, "time=41,node=2,seq=8", 100)
	tr := g.cur.Load()
	w.during = func(d time.Duration) int {
		round := len(w.waits)
		clock.Advance(d)
		word, tick, limit := tr.word.Load(), tr.coarse.Load(), tr.limit.Load()
		switch round {
		case 2, 3: // what the round before left
			want := uint64(round-1) * span
			if word != want || tick != int64(round-1) || limit != want+minQuota {
				t.Errorf("round %d: word %d, tick %d, limit %d", round, word, tick, limit)
			}
			tr.word.Add(3)
		case 4:
			tr.word.Store(50*span + 7) // far ahead, which the lead allows
		case 6:
			if pos := tr.pubPos.Load(); word != 50*span+7 || pos != word || tick != 5 {
				t.Errorf("the word went to %d, and the ticker said %d in tick %d", word, pos, tick)
			}
		}
		return -1
	}
	tr.word.Store(1)
	g.keepTime()
	limit, tick := tr.limit.Load(), tr.coarse.Load()
	if len(w.waits) != 6 || g.ticking.Load() || limit != 0 || tick != parked {
		t.Errorf("%d rounds, ticking %t, limit %d, tick %d", len(w.waits), g.ticking.Load(), limit, tick)
	}
}

// What is published of a grant that was sealed meanwhile takes no caller
// past the slow way.
func TestNothingIsPublishedOfASealedGrant(t *testing.T) {
	g, _, _ := ticker(t, "time=41,node=2,seq=8", 0)
	g.ticking.Store(true)
	tr := g.cur.Load()
	tr.hold.gone.Store(true)
	g.publishCoarse(tr, tr.from, 0, 1, 256)
	if tr.limit.Load() != 0 || tr.coarse.Load() != parked {
		t.Errorf("limit %d, tick %d", tr.limit.Load(), tr.coarse.Load())
	}
}

// A generator has one ticker, which starts when IDs are made.
func TestOneTicker(t *testing.T) {
	g, w, _ := ticker(t, "time=41,node=2,seq=8", 0)
	started := &starts{paced: w}
	g.world = started
	for _, ticking := range []bool{true, false, true} {
		started.n = 0
		g.ticking.Store(ticking)
		g.publishCoarse(g.cur.Load(), math.MaxInt32, 0, 1, 256)
		if !g.ticking.Load() || (started.n == 0) != ticking {
			t.Errorf("ticking %t: %d started", ticking, started.n)
		}
	}
	g.world = w.World
}

// starts counts goroutines instead of starting them.
type starts struct {
	*paced
	n int
}

func (s *starts) Go(func()) { s.n++ }
