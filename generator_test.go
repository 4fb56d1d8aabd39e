package snowfence

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestNewRefusesABadConfig(t *testing.T) {
	s := testScheme("twitter")
	for name, c := range map[string]Config{
		"no fence":                {},
		"negative lead":           {Fence: Unguarded(s, 1), Lead: -1},
		"huge lead":               {Fence: Unguarded(s, 1), Lead: 1 << 50},
		"no such node":            {Fence: Unguarded(s, 1024)},
		"negative node":           {Fence: Unguarded(s, -1)},
		"node of the fence":       {Fence: newScript(s, Grant{Node: 1024, Until: 1 << 40})},
		"block over nodes":        {Fence: newScript(s, Grant{Node: 1020, Nodes: 8, Until: 1 << 40})},
		"sequence":                {Fence: newScript(s, Grant{FirstSeq: 5, LastSeq: 4096, Until: 1 << 40})},
		"sequence reversed":       {Fence: newScript(s, Grant{FirstSeq: 5, LastSeq: 4, Until: 1 << 40})},
		"past the end":            {Fence: newScript(s, Grant{Until: 1<<41 + 1})},
		"block over the sequence": {Fence: newScript(testScheme("time=41,zone=3,seq=8,node=4"), Grant{Node: 14, Nodes: 4, Until: 1 << 40})},
	} {
		if g, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
			g.Close()
		}
	}
	f := newScript(s, Grant{Node: 1024, Until: 1 << 40})
	if _, err := New(Config{Fence: f}); err == nil || len(f.released) != 1 || f.released[0].used != 0 {
		t.Errorf("a grant that cannot be used was not given back whole: %v, %+v", err, f.released)
	}
}

func TestOneFenceServesOneGenerator(t *testing.T) {
	s := testScheme("twitter")
	f := Unguarded(s, 1)
	g := must(New(Config{Fence: f}))
	if _, err := New(Config{Fence: f}); !errors.Is(err, ErrBound) {
		t.Fatalf("a second generator on the fence: %v, want ErrBound", err)
	}
	clock := newFakeClock()
	g.Close()
	g1 := newGenerator(t, Config{Fence: f, Time: clock.Now, Lead: 100})
	ids := take(t, g1, 5000)
	g1.Close()
	clock.Step(-time.Hour)
	g2 := must(New(Config{Fence: f, Time: clock.Now, Lead: 100}))
	defer g2.Close()
	_, err := g2.TryNext()
	if w := isReason(t, err, ErrExhausted); !w.Behind {
		t.Errorf("the fence forgot what was given out: %+v", w)
	}
	clock.Step(time.Hour)
	clock.Advance(10 * time.Millisecond)
	ids = append(ids, take(t, g2, 5000)...)
	checkIncreasing(t, ids)
}

// Steps back inside one process: no ID twice, IDs go on at once (the
// anchored clock does not step), and the time comes back to the truth.
func TestClockStepsBackInTheProcess(t *testing.T) {
	for _, back := range []time.Duration{40 * time.Millisecond, time.Second, time.Hour} {
		for _, coarse := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := testScheme(bubbleSpec)
				clock := newStepped()
				g := newGenerator(t, Config{Fence: Unguarded(s, 7), Time: clock.now, Coarse: coarse})
				defer g.Close()
				ids := take(t, g, 1000)
				clock.step(-back)
				for range 200 {
					time.Sleep(time.Millisecond)
					ids = append(ids, take(t, g, 30)...)
				}
				for range 20 {
					time.Sleep(back / 5) // at half speed it takes twice as long as the step
					ids = append(ids, take(t, g, 1)...)
				}
				checkIncreasing(t, ids)
				p, _ := s.Decode(ids[len(ids)-1])
				wall, _ := clock.now()
				if late := wall.Sub(p.Time); late < 0 || late > 2*time.Millisecond {
					t.Errorf("%v back, coarse %v: the time did not come back: it is off by %v", back, coarse, -late)
				}
			})
		}
	}
}

func TestClockBeforeTheEpoch(t *testing.T) {
	s := testScheme("twitter")
	clock := newFakeClock()
	clock.Wall = time.Unix(0, 0)
	f := Unguarded(s, 7)
	_, err := New(Config{Fence: f, Time: clock.Now, Lead: 1000})
	says(t, err, "before the epoch", "a clock in 1970")
	// Inside the lead of the epoch it is as with any other first tick.
	clock.Wall = s.Layout().Epoch.Add(-5 * time.Millisecond)
	g := newGenerator(t, Config{Fence: f, Time: clock.Now, Lead: 5})
	ids, err := takeAll(t, g, 5000)
	if w := isReason(t, err, ErrExhausted); len(ids) != 4096 || !w.Behind || w.Missing != time.Millisecond {
		t.Errorf("5 ms before the epoch: %d IDs and %+v", len(ids), w)
	}
	clock.Advance(time.Second)
	take(t, g, 3)
}

// Between the fence's answer and its use the clock may move by years:
// nothing is made outside of the grant for that.
func TestClockLeapsWhileTheFenceAnswers(t *testing.T) {
	s := testScheme("time=33,seq=30,tick=100ms,epoch=2020-01-01")
	now := s.Layout().TickOf(newFakeClock().Wall)
	h := must(newHold(s, here, Grant{From: now, Until: now + 10}.norm(s.layout), now, now+3_000_000_000, 0))
	if got := h.until(); got > now+10 {
		t.Errorf("the hold ends at %d, and the grant at %d", got, now+10)
	}
	if h.raiseEnd(now+5, now) || h.raiseEnd(0, now) {
		t.Error("a lower until raised the bound")
	}
}

// What the fence says about why there is no grant is in the error, and the
// error is not the end of a context the caller does not have.
func TestWaitErrorSaysWhatTheFenceSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(bubbleSpec)
		now := s.Layout().TickOf(time.Now())
		f := &sayingFence{script: newScript(s, Grant{Node: 5, Until: now + 10})}
		g := newGenerator(t, Config{Fence: f})
		defer g.Close()
		time.Sleep(time.Second)
		_, err := g.Next(t.Context())
		w := isReason(t, err, ErrFenced)
		if !errors.Is(err, errTaken) || errors.Is(err, context.Canceled) || w.Waited != time.Second {
			t.Errorf("%v after %v", err, w.Waited)
		}
	})
}

var errTaken = errors.New("taken by another process")

// sayingFence says more than the end of the context when it is stopped.
type sayingFence struct{ *script }

func (f *sayingFence) Grant(ctx context.Context, after int64) (Grant, error) {
	g, err := f.script.Grant(ctx, after)
	if err != nil {
		err = fmt.Errorf("%w (%w)", errTaken, err)
	}
	return g, err
}

func (f *sayingFence) Held(after int64) (Grant, bool) { return atHand(f, after) }

func TestEndOfLifeOfTheTimeBits(t *testing.T) {
	s := testScheme("time=20,node=3,seq=4,epoch=2026-01-01")
	clock := newFakeClock()
	clock.Wall = s.Layout().EndOfLife().Add(-time.Millisecond)
	g := newGenerator(t, Config{Fence: Unguarded(s, 7), Time: clock.Now, Lead: 1000})
	ids, err := takeAll(t, g, 100)
	if len(ids) != 16 || !errors.Is(err, ErrLifetime) {
		t.Fatalf("%d IDs in the last tick, then %v", len(ids), err)
	}
	checkIncreasing(t, ids)
	clock.Advance(time.Hour)
	wantErr(t, errOf(g.Next(t.Context())), ErrLifetime, "after the end")
	wantErr(t, errOf(New(Config{Fence: Unguarded(s, 1), Time: clock.Now})), ErrLifetime,
		"a new generator after the end")
}

func TestNextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme("time=41,node=2,seq=1,tick=1500ms,epoch=1999-01-01")
		g := newGenerator(t, Config{Fence: Unguarded(s, 1)})
		defer g.Close()
		take(t, g, 2)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		_, err := g.Next(ctx)
		w := isReason(t, err, ErrExhausted)
		if !errors.Is(err, context.DeadlineExceeded) || w.Waited != 5*time.Millisecond || w.Missing <= 0 ||
			w.Missing > 1500*time.Millisecond {
			t.Errorf("%v: %+v", err, w)
		}
		n, err := g.Fill(t.Context(), make([]ID, 5))
		if w := isReason(t, err, ErrExhausted); n != 0 || w.Waited != time.Second || w.Missing != 495*time.Millisecond {
			t.Errorf("Fill made %d: %+v; want to give up after a MaxWait of one second", n, w)
		}
		n, err = g.Fill(t.Context(), make([]ID, 5))
		if n != 2 || err == nil {
			t.Errorf("Fill made %d: %v; want the 2 of the next tick", n, err)
		}
		none := must(New(Config{Fence: Unguarded(s, 2), MaxWait: -1}))
		defer none.Close()
		take(t, none, 2)
		wantErr(t, errOf(none.Next(t.Context())), ErrExhausted, "with a negative MaxWait")
	})
}

// A grant that is lost is followed by another, on another node, without the
// user's help; nothing is made in between.
func TestLostGrantHeals(t *testing.T) {
	for _, coarse := range []bool{false, true} {
		s := testScheme("twitter")
		clock := newFakeClock()
		now := s.Layout().TickOf(clock.Wall)
		f := newScript(s, Grant{Node: 900, From: 5, Until: now + 1000})
		g := newGenerator(t, Config{Fence: f, Time: clock.Now, Coarse: coarse})
		ids := take(t, g, 100)
		last, _ := s.Decode(ids[99])
		f.set(Grant{}, nil) // it holds nothing now
		if used := f.seal(); used <= last.Tick || used > now+2 {
			t.Errorf("sealed at tick %d; the last ID has tick %d", used, last.Tick)
		}
		if _, ok := g.Grant(); ok {
			t.Error("a sealed grant is still shown")
		}
		wantErr(t, errOf(g.TryNext()), ErrFenced, "after the loss")
		clock.Advance(3 * time.Millisecond)
		f.set(Grant{Node: 3, From: now - 50, Until: now + 2000}, nil)
		id := must(g.Next(t.Context()))
		ids = append(ids, id)
		ids = append(ids, take(t, g, 99)...)
		if p, _ := s.Decode(ids[199]); p.Node != 3 {
			t.Errorf("node %d, want the new one", p.Node)
		}
		checkIncreasing(t, ids) // though the new node's number is lower
		checkInside(t, s, ids, f.grants())
	}
}

func TestClose(t *testing.T) {
	s := testScheme("twitter")
	for _, taken := range []int{0, 1, 4096, 4097, 20000} {
		clock := newFakeClock()
		now := s.Layout().TickOf(clock.Wall)
		f := newScript(s, Grant{Node: 5, From: now - 9, Until: now + 1000})
		g := newGenerator(t, Config{Fence: f, Time: clock.Now, Lead: 10})
		l := g.Local()
		ids := take(t, g, taken)
		g.Close()
		if len(f.released) != 1 {
			t.Fatalf("released %d times", len(f.released))
		}
		used, want := f.released[0].used, now-9
		if taken > 0 {
			p, _ := s.Decode(ids[taken-1])
			want = p.Tick + 1
		}
		if used != want {
			t.Errorf("%d IDs: used up to %d, want %d", taken, used, want)
		}
		for _, next := range []func() (ID, error){
			g.TryNext,
			l.TryNext,
			func() (ID, error) { return g.Next(t.Context()) },
			func() (ID, error) { return l.Next(t.Context()) },
		} {
			wantErr(t, errOf(next()), ErrClosed, "after Close")
		}
		if err := g.Close(); err != nil || len(f.released) != 1 {
			t.Errorf("a second Close: %v, released %d times", err, len(f.released))
		}
	}
}

func TestCloseWakesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme("time=41,node=2,seq=1,tick=10s,epoch=1999-01-01")
		f := newScript(s, Grant{Node: 1, Until: 1 << 30})
		g := newGenerator(t, Config{Fence: f, MaxWait: time.Hour})
		take(t, g, 2)
		done := make(chan error)
		go func() { _, err := g.Next(t.Context()); done <- err }() // waits for the clock
		synctest.Wait()
		g.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("the waiter got %v", err)
		}

		f2 := newScript(s, Grant{Node: 1, Until: s.Layout().TickOf(time.Now()) + 1})
		g2 := newGenerator(t, Config{Fence: f2, MaxWait: time.Hour})
		take(t, g2, 2)
		go func() { _, err := g2.Next(t.Context()); done <- err }() // waits for the fence
		synctest.Wait()
		g2.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("the waiter got %v", err)
		}
		if len(f2.released) != 1 {
			t.Errorf("released %d times", len(f2.released))
		}
	})
}

// Ahead tells of a burst without using up an ID: two scrapes of metrics had
// cost one each.
func TestAheadUsesUpNoID(t *testing.T) {
	s, clock := testScheme("twitter"), newFakeClock()
	now := clock.Wall
	g, err := New(Config{Fence: Unguarded(s, 5), Lead: 100, MaxWait: -1, Time: clock.Now})
	noError(t, err)
	ids := make([]ID, 50*4096+1)
	for i := range ids {
		if ids[i], err = g.TryNext(); err != nil {
			t.Fatal(i, err)
		}
		if i == 0 && g.Ahead() != 0 {
			t.Errorf("ahead by %v after one ID", g.Ahead())
		}
	}
	last := must(s.Decode(ids[len(ids)-1]))
	for range 3 {
		if got, want := g.Ahead(), last.Time.Sub(now); got != want || want <= 0 {
			t.Errorf("ahead by %v, and the last ID by %v", got, want)
		}
	}
	if id, err := g.TryNext(); err != nil || id != ids[len(ids)-1]+1 {
		t.Errorf("%v follows %v, %v", id, ids[len(ids)-1], err)
	}
	tr := g.cur.Load()
	tr.word.Store(tr.end.Load() + tr.span) // as calls do that fail at the end of a grant
	if got, want := g.Ahead(), s.Layout().TimeOf(s.MaxTick()+1).Sub(now.Truncate(time.Millisecond)); got != want {
		t.Errorf("at the end of a grant it is ahead by %v, want %v", got, want)
	}
	tr.word.Store(0)
	if g.Ahead() != 0 {
		t.Errorf("behind by %v", g.Ahead())
	}
	if err := g.Close(); err != nil || g.Ahead() != 0 {
		t.Errorf("closed: %v, %v", g.Ahead(), err)
	}
}
