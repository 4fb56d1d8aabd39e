package snowfence

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/internal/world"
)

// paced is a world whose time the test moves. It notes how long every wait was to be.
type paced struct {
	world.World
	t     testing.TB
	at    time.Time
	slow  time.Duration // how long every look at the time takes
	waits []time.Duration

	// during is what happens in a wait; it returns which channel the waiter hears of, -1 for none.
	during func(d time.Duration) int
}

func newPaced(t testing.TB) *paced {
	return &paced{World: world.Real(), t: t, at: time.Unix(1e9, 0), during: func(time.Duration) int { return -1 }}
}

func (w *paced) Now() time.Time {
	w.at = w.at.Add(w.slow)
	return w.at
}

func (w *paced) Wait(d time.Duration, _ ...<-chan struct{}) int {
	if w.waits = append(w.waits, d); d < 0 || len(w.waits) > 50 {
		w.t.Fatalf("a wait without an end, after waits of %v", w.waits)
	}
	w.at = w.at.Add(d)
	return w.during(d)
}

// exhausted is a generator in a tick of which nothing is left, in a paced world.
func exhausted(t *testing.T, maxWait time.Duration) (*Generator, *paced, *fakeClock) {
	t.Helper()
	s, clock := testScheme(t, "time=41,node=2,seq=1,tick=1500ms,epoch=1999-01-01"), newFakeClock()
	clock.wall = s.Layout().TimeOf(1e6)
	g := newGenerator(t, Config{Fence: Unguarded(s, 1), Time: clock.now, MaxWait: maxWait})
	take(t, g, 2)
	w := newPaced(t)
	real := g.world
	g.world = w
	t.Cleanup(func() { g.world = real })
	return g, w, clock
}

// A call waits for the clock, looks at it now and then, and gives up at the end of MaxWait, however
// short that is.
func TestWaitsNoLongerThanMaxWait(t *testing.T) {
	for _, c := range []struct {
		maxWait, slow time.Duration
		want          []time.Duration
	}{
		{maxWait: 120 * time.Millisecond, want: []time.Duration{lookAgain, lookAgain, 20 * time.Millisecond}},
		{maxWait: 1, slow: time.Microsecond, want: []time.Duration{0}},
	} {
		g, w, clock := exhausted(t, c.maxWait)
		w.slow = c.slow
		w.during = func(d time.Duration) int {
			clock.advance(d)
			return -1
		}
		_, err := g.Next(t.Context())
		waited := isReason(t, err, ErrExhausted)
		var all time.Duration
		for _, d := range c.want {
			all += d
		}
		good := waited.Missing == 1500*time.Millisecond-all && (waited.Waited == all || c.slow > 0)
		if !slices.Equal(w.waits, c.want) || !good {
			t.Errorf("MaxWait %v: waited %v, then %+v", c.maxWait, w.waits, waited)
		}
	}
}

// A call that gives up just when the generator is closed says that it is closed.
func TestClosedWhileGivingUp(t *testing.T) {
	g, w, _ := exhausted(t, time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	real := g.world
	w.during = func(time.Duration) int {
		g.world = real
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		return 2
	}
	if _, err := g.Next(ctx); err != ErrClosed {
		t.Errorf("the error is %v", err)
	}
}

// late is a fence that grants more only when it is asked no longer.
type late struct {
	*script
	asks int
}

func (f *late) Grant(ctx context.Context, after int64) (Grant, error) {
	f.asks++
	if f.asks > 1 {
		<-ctx.Done()
		gr := f.grant
		gr.Until = after + 5000
		f.set(gr, nil)
	}
	return f.script.Grant(ctx, after)
}

// What the fence grants at the very end of a wait is used.
func TestGrantAtTheEndOfTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(t, bubbleSpec)
		now := s.Layout().TickOf(time.Now())
		g := newGenerator(t, Config{Fence: &late{script: newScript(s, Grant{Node: 1, From: now, Until: now + 1})}})
		time.Sleep(time.Millisecond)
		if id, err := g.Next(t.Context()); err != nil || must(s.Decode(id)).Tick != now+1001 {
			t.Errorf("%d, %v", id, err)
		}
	})
}

// A generator that does not wait leaves the question to the fence under way, and uses the answer.
func TestTheQuestionGoesOnWithoutTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(t, bubbleSpec)
		now := s.Layout().TickOf(time.Now())
		f := &patient{script: newScript(s, Grant{Node: 1, From: now, Until: now + 600})}
		g := newGenerator(t, Config{Fence: f, MaxWait: -1})
		time.Sleep(time.Second)
		f.set(Grant{Node: 1, From: now, Until: now + 90000}, nil)
		_, err := g.Next(t.Context())
		if isReason(t, err, ErrFenced); errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		take(t, g, 1)
		if len(f.after) != 3 { // New's, one that the fence cannot answer at once, and the one that goes on
			t.Errorf("the fence was asked for ticks after %v", f.after)
		}
	})
}

// A caller who gives up ends the question to the fence. Others who wait for the answer ask again.
func TestOthersWaitOnForTheFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(t, bubbleSpec)
		now := s.Layout().TickOf(time.Now())
		f := newScript(s, Grant{Node: 1, From: now, Until: now + 1})
		g := newGenerator(t, Config{Fence: f})
		time.Sleep(100 * time.Millisecond)
		early, late := make(chan error, 1), make(chan error, 1)
		next := func(done chan<- error) {
			_, err := g.Next(t.Context())
			done <- err
		}
		go next(early)
		time.Sleep(500 * time.Millisecond)
		go next(late)
		if err := <-early; !errors.Is(err, ErrFenced) {
			t.Errorf("who gives up: %v", err)
		}
		f.set(Grant{Node: 1, From: now, Until: now + 90000}, nil)
		if err := <-late; err != nil {
			t.Errorf("who waits on: %v", err)
		}
	})
}
