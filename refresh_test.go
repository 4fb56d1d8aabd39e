package snowfence

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/internal/clock"
)

// counted is a fence that counts its questions.
type counted struct {
	*script
	asks atomic.Int64
}

func (f *counted) Grant(ctx context.Context, after int64) (Grant, error) {
	f.asks.Add(1)
	return f.script.Grant(ctx, after)
}

func (f *counted) Held(after int64) (Grant, bool) { return atHand(f, after) }

// Two grants overlap where they have a node in common.
func TestGrantsOverlap(t *testing.T) {
	s := testScheme("time=40,node=3,seq=4")
	for i := range int64(8) {
		for n := int64(1); n <= 2 && i+n <= 8; n++ {
			h := must(newHold(s, here, Grant{Node: i, Nodes: n, Until: 9}.norm(s.layout), 0, 0, 0))
			for j := range int64(8) {
				for m := range int64(3) {
					want := false
					for node := j; node < j+max(m, 1); node++ {
						want = want || i <= node && node < i+n
					}
					if h.overlaps(Grant{Node: j, Nodes: m}.norm(s.layout)) != want {
						t.Errorf("%d nodes from %d and %d from %d: want %t", n, i, m, j, want)
					}
				}
			}
		}
	}
}

// What a fence says when it is stopped does not end the context of the
// caller.
func TestAnswered(t *testing.T) {
	if answered(nil) != nil || answered(context.Canceled) != nil {
		t.Error("a question that was only stopped has a cause")
	}
	err := answered(fmt.Errorf("%w (%w)", errTaken, context.Canceled))
	if !errors.Is(err, errTaken) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// A generator asks ahead once, when the clock or the positions reach the
// soft bound, and never past the end of the layout's life.
func TestAsksAheadOnceAndNotPastTheEnd(t *testing.T) {
	for _, c := range []struct {
		until int64 // of the grant, from tick 100
		tick  int64 // after 100
		pos   uint64
		want  bool
	}{
		{130, 19, 20*16 - 1, false},
		{130, 20, 0, true},
		{130, 0, 20 * 16, true},
		{130, 25, 30 * 16, true},
		{1023, 922, 0, true},
		{1024, 922, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := testScheme("time=10,node=3,seq=4,tick=1s,epoch=1999-01-01")
			clock := newFakeClock()
			clock.Wall = s.Layout().TimeOf(100)
			f := &counted{script: newScript(s, Grant{Node: 1, From: 100, Until: c.until})}
			g := newGenerator(t, Config{Fence: f, Time: clock.Now})
			tr := g.cur.Load()
			before := f.asks.Load()
			f.set(Grant{}, errTaken)
			g.askAhead(tr, 100+c.tick, c.pos)
			synctest.Wait()
			asked := f.asks.Load() > before
			if asked != c.want {
				t.Errorf("%+v: asked %t, with the soft bound at %d of %d", c, asked, tr.soft.Load(), tr.until.Load())
			}
			before = f.asks.Load()
			g.askAhead(tr, 100+c.tick, c.pos)
			synctest.Wait()
			if f.asks.Load() != before {
				t.Errorf("%+v: asked again", c)
			}
		})
	}
}

// Two calls that need a grant share one question. After Close, and after
// another grant came into use, the fence is not asked.
func TestOneQuestionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(bubbleSpec)
		now := s.Layout().TickOf(time.Now())
		f := &counted{script: newScript(s, Grant{Node: 1, From: now, Until: now + 10})}
		g := newGenerator(t, Config{Fence: f})
		tr := g.cur.Load()
		one := g.askFence(tr, now+20, 1)
		two := g.askFence(tr, now+20, 1)
		synctest.Wait()
		if asks := f.asks.Load(); one != two || asks != 3 { // New, at once, and in the background
			t.Errorf("the fence was asked %d times, as one question: %t", asks, one == two)
		}
		f.set(Grant{Node: 2, From: now, Until: now + 50}, nil)
		<-one.done
		if late := g.askFence(tr, now+20, 1); !isDone(late) || late.err != nil || f.asks.Load() != 3 {
			t.Errorf("a question for a grant that is not in use any more: %v, asked %d times", late.err, f.asks.Load())
		}
		if len(f.released) != 0 {
			t.Errorf("a grant that came into use was given back: %+v", f.released)
		}
		tr = g.cur.Load()
		if stale := g.askFence(tr, now+60, 0); !isDone(stale) || stale.err != nil || f.asks.Load() != 3 {
			t.Errorf("a tick of a clock that was corrected since: %v, asked %d times", stale.err, f.asks.Load())
		}
		g.Close()
		closed := g.askFence(tr, now+60, 1)
		if !isDone(closed) || !errors.Is(closed.err, ErrClosed) || f.asks.Load() != 3 {
			t.Errorf("a question after Close: %v, asked %d times", closed.err, f.asks.Load())
		}
		gr := Grant{Node: 2, From: now, Until: now + 90}.norm(s.layout)
		if again, err := g.installGrant(gr, here, 0); again || !errors.Is(err, ErrClosed) {
			t.Errorf("a grant after Close: again %t, %v", again, err)
		}
	})
}

func isDone(f *flight) bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// A fence that grants no tick past the one that was asked for is refused,
// and its grant, which may be the present one, stays.
func TestGrantThatEndsTooSoon(t *testing.T) {
	s, clock := testScheme("twitter"), newFakeClock()
	now := s.Layout().TickOf(clock.Wall)
	gr := Grant{Node: 1, From: now, Until: now + 10}
	f := &deaf{scheme: s, ask: make(chan Grant, 2), first: gr}
	g := newGenerator(t, Config{Fence: f, Time: clock.Now})
	tr := g.cur.Load()
	for _, until := range []int64{now + 20, now + 21} {
		f.ask <- Grant{Node: 1, From: now, Until: until}
		err := g.fetchGrant(tr, now+20, func() (Grant, error) { return f.Grant(t.Context(), now+20) })
		if (err == nil) != (until > now+20) || len(f.released) != 0 {
			t.Errorf("a grant until %d, asked for more than %d: %v, given back at %v", until, now+20, err, f.released)
		}
	}
	// A new grant that cannot be used is given back whole.
	f.ask <- Grant{Node: 5000, From: now + 3, Until: now + 90}
	err := g.fetchGrant(tr, now+30, func() (Grant, error) { return f.Grant(t.Context(), now+30) })
	if err == nil || len(f.released) != 1 || f.released[0] != now+3 {
		t.Errorf("%v, given back at %v", err, f.released)
	}
}

// A fence may give the same grant again after it took it back: the
// generator goes on above what it used.
func TestSameGrantAfterALoss(t *testing.T) {
	s, clock := testScheme("twitter"), newFakeClock()
	now := s.Layout().TickOf(clock.Wall)
	f := &counted{script: newScript(s, Grant{Node: 1, From: now, Until: now + 1000})}
	g := newGenerator(t, Config{Fence: f, Time: clock.Now})
	ids := take(t, g, 10)
	f.seal()
	clock.Advance(2 * time.Millisecond)
	f.set(Grant{Node: 1, From: now, Until: now + 2000}, nil)
	ids = append(ids, take(t, g, 10)...)
	checkIncreasing(t, ids)
	if gr, ok := g.Grant(); !ok || gr.Until != now+2000 || f.asks.Load() != 2 {
		t.Errorf("%+v, %t; asked %d times", gr, ok, f.asks.Load())
	}
}

// A renewal goes on with the positions of its grant, and a new grant begins
// with its own. The next one is asked for after two thirds of the time that
// either gives.
func TestRenewalsAndNewGrantsInUse(t *testing.T) {
	s, clock := testScheme("twitter"), newFakeClock()
	now := s.Layout().TickOf(clock.Wall)
	g := newGenerator(t, Config{
		Fence: newScript(s, Grant{Node: 1, From: now - 600, Until: now + 100}), Time: clock.Now,
	})
	ids := take(t, g, 5)
	tr := g.cur.Load()
	for _, c := range []struct {
		grant Grant
		same  bool
		soft  int64
	}{
		{Grant{Node: 1, From: now - 600, Until: now + 400}, true, now + 300},
		{Grant{Node: 1, From: now - 600, Until: now + 400}, true, now + 300}, // as another call was told
		{Grant{Node: 1, From: now - 600, Until: now + 399}, true, now + 300},
		{Grant{Node: 1, From: now - 500, Until: now + 900}, false, now + 601},
	} {
		if again, err := g.installGrant(c.grant.norm(s.layout), here, 0); again || err != nil {
			t.Fatal(again, err)
		}
		cur := g.cur.Load()
		if cur == tr != c.same || cur.from+int64(cur.soft.Load()) != c.soft {
			t.Errorf("%+v: the same positions: %t; to be asked again at tick %d after now",
				c.grant, cur == tr, cur.from+int64(cur.soft.Load())-now)
		}
		clock.Advance(time.Millisecond)
		ids = append(ids, take(t, g, 5)...)
	}
	checkIncreasing(t, ids)
}

// After a change of grants in one tick, IDs increase without rollback bits,
// whatever the nodes, and are unique with them.
func TestOtherGrantsInTheSameTick(t *testing.T) {
	for _, c := range []struct {
		spec      string
		next      int64
		increases bool
	}{
		{"time=41,node=8,seq=12", 3, true},
		{"time=41,node=8,seq=12", 5, true},
		{"time=41,node=8,rollback=2,seq=12", 5, true},
		{"time=41,node=8,rollback=2,seq=12", 3, false},
	} {
		s, clock := testScheme(c.spec), newFakeClock()
		now := s.Layout().TickOf(clock.Wall)
		f := newScript(s, Grant{Node: 5, From: now - 10, Until: now + 100})
		g := newGenerator(t, Config{Fence: f, Time: clock.Now, Lead: 3})
		ids := take(t, g, 7)
		f.seal()
		f.set(Grant{Node: c.next, From: now - 5, Until: now + 100}, nil)
		ids = append(ids, take(t, g, 7)...)
		if p, _ := s.Decode(ids[7]); ids[7] > ids[6] != c.increases ||
			c.increases && p.Tick != now+1 || !c.increases && p.Tick != now {
			t.Errorf("%s, then node %d: %d after %d, in tick %d after now", c.spec, c.next, ids[7], ids[6], p.Tick-now)
		}
		checkInside(t, s, ids, f.grants())
		checkUnique(t, ids)
	}
}

// corrected is a fence whose clock is corrected at its next question.
type corrected struct {
	*script
	n atomic.Int64 // of corrections that are to come
}

func (f *corrected) Grant(ctx context.Context, after int64) (Grant, error) {
	if f.n.Add(-1) >= 0 {
		return Grant{}, clock.ErrCorrected
	}
	return f.script.Grant(ctx, after)
}

func (f *corrected) Held(after int64) (Grant, bool) {
	if f.n.Load() > 0 {
		return Grant{}, false
	}
	return atHand(f.script, after)
}

// A generator whose clock was corrected while it asked reads the clock
// anew, and asks again.
func TestAsksAgainByACorrectedClock(t *testing.T) {
	s, fake := testScheme("twitter"), newFakeClock()
	now := s.Layout().TickOf(fake.Wall)
	f := &corrected{script: newScript(s, Grant{Node: 1, From: now, Until: now + 10})}
	g := newGenerator(t, Config{Fence: f, Time: fake.Now})
	before := g.clock.Corrections()
	f.n.Store(1)
	f.set(Grant{Node: 1, From: now, Until: now + 900}, nil)
	fake.Advance(20 * time.Millisecond)
	if _, err := g.Next(t.Context()); err != nil || g.clock.Corrections() != before+1 {
		t.Errorf("%v; the clock was corrected %d times", err, g.clock.Corrections()-before)
	}
}
