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

// The fast path stamps the present tick, also at the very instant at which a tick begins,
// and gives each position of a tick.
func TestFastPathAtTheEdgesOfATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(t, "time=41,node=10,seq=4,epoch=1999-01-01")
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

// Each fast path gives the positions below the limit and none at it, whatever form they
// have, and Next and TryNext lose none.
func TestFastPathsStopAtTheLimit(t *testing.T) {
	for _, gr := range []Grant{{Node: 5}, {Node: 5, FirstSeq: 2, LastSeq: 14}} {
		for _, coarse := range []bool{false, true} {
			s, clock := testScheme(t, "time=41,node=10,seq=4,epoch=1999-01-01"), newFakeClock()
			now := s.Layout().TickOf(clock.wall)
			gr.From, gr.Until = now, now+1000
			g := newGenerator(t, Config{Fence: newScript(s, gr), Time: clock.now, Coarse: coarse, Lead: 100})
			try := g.tryExact
			if coarse {
				try = g.tryCoarse
			}
			tr := g.cur.Load()
			tr.halt()
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

// patient is a fence that needs a while for an answer, and notes what it is asked.
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

// The first grant is waited for also by generators that wait for nothing later, and the
// fence is asked for no tick below 0.
func TestFirstGrantIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, clock := testScheme(t, bubbleSpec), newStepped()
		f := &patient{script: newScript(s, Grant{Node: 1, Until: 1 << 40})}
		newGenerator(t, Config{Fence: f, MaxWait: -1, Time: clock.now})
		if _, err := New(Config{
			Fence:   &patient{script: newScript(s, Grant{Until: 1 << 40})},
			MaxWait: 499 * time.Millisecond,
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

// A generator needs a scheme, takes a lead of up to 2^40 ticks, and shows no grant after its end.
func TestGeneratorAtTheEdgesOfItsConfig(t *testing.T) {
	s := testScheme(t, "twitter")
	if _, err := New(Config{Fence: newScript(nil, Grant{Until: 1 << 40})}); err == nil {
		t.Error("a fence without a scheme was accepted")
	}
	g := newGenerator(t, Config{Fence: Unguarded(s, 1), Lead: 1 << 40})
	if gr, ok := g.Grant(); !ok || gr.Node != 1 {
		t.Errorf("%+v, %t", gr, ok)
	}
	g.Close()
	if gr, ok := g.Grant(); ok {
		t.Errorf("after Close: %+v", gr)
	}
	if _, err := New(Config{Fence: Unguarded(s, 1), Lead: 1<<40 + 1}); err == nil {
		t.Error("a lead above the highest was accepted")
	}
}

// Fill takes no more than it has room for, also where it waits for the next tick in the middle.
func TestFillOverSomeTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(t, "time=41,node=10,seq=4,epoch=1999-01-01")
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

// Numbers in equal steps are written without a gap for every length.
func TestCount64(t *testing.T) {
	for n := range 70 {
		dst := make([]ID, n+1)
		count64(dst[:n], 1000, 7)
		for i, id := range dst[:n] {
			if id != ID(1000+7*i) {
				t.Fatalf("number %d of %d is %d", i, n, id)
			}
		}
		if dst[n] != 0 {
			t.Fatalf("more than %d were written", n)
		}
	}
}

// A run without a step, or one that ends before it begins, has no IDs. A reader of a run may stop.
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
