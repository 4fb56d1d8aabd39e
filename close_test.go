package snowfence

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/internal/world"

	"github.com/snowfence/snowfence/internal/tests"
)

// deaf is a fence that answers a question when it likes, and counts what is
// given back.
type deaf struct {
	binding
	scheme   *Scheme
	ask      chan Grant // nil: at once
	first    Grant
	released []int64 // used
	fail     error   // of Release
}

func (f *deaf) Scheme() *Scheme { return f.scheme }

func (f *deaf) Grant(ctx context.Context, after int64) (Grant, error) {
	if f.first.Until > after {
		return f.first, nil
	}
	if err := ctx.Err(); err != nil {
		return Grant{}, err
	}
	return <-f.ask, nil
}

func (f *deaf) Held(after int64) (Grant, bool) { return atHand(f, after) }

func (f *deaf) Release(_ context.Context, _ Grant, used int64) error {
	f.released = append(f.released, used)
	return f.fail
}

// Nothing is given back while the fence is being asked: its answer could be
// put to use, or be for another generator. But IDs end at once, and Close
// does not wait for ever.
func TestCloseWhileTheFenceIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(bubbleSpec)
		now := s.Layout().TickOf(time.Now())
		f := &deaf{scheme: s, ask: make(chan Grant), first: Grant{Node: 1, From: now, Until: now + 10}}
		g := must(New(Config{Fence: f, MaxWait: -1}))
		ids := take(t, g, 1)
		time.Sleep(20 * time.Millisecond)
		if _, err := g.TryNext(); !errors.Is(err, ErrFenced) { // asks
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		err := g.Close()
		if err == nil || !strings.Contains(err.Error(), "node 1 stays taken until") || time.Since(start) != closeWait {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if again := g.Close(); again != err || time.Since(start) != closeWait {
			t.Errorf("a second Close: %v after %v", again, time.Since(start))
		}
		if len(f.released) > 0 {
			t.Errorf("released at %v while a question was under way", f.released)
		}
		wantErr(t, errOf(New(Config{Fence: f})), ErrBound, "another generator on a fence that is being asked")
		f.ask <- Grant{Node: 1, From: now, Until: now + 1000}
		synctest.Wait()
		wantErr(t, errOf(g.TryNext()), ErrClosed, "after the answer")
		p, _ := s.Decode(ids[0])
		if err := g.Shutdown(t.Context()); err != nil || len(f.released) != 1 || f.released[0] != p.Tick+1 {
			t.Errorf("Shutdown after the answer: %v, released at %v", err, f.released)
		}
		if err := g.Shutdown(t.Context()); err != nil || len(f.released) != 1 {
			t.Errorf("once more: %v, released at %v", err, f.released)
		}
		if again := g.Close(); again != err {
			t.Errorf("Close says %v now", again)
		}
	})
}

// A fence that does not stop when a call gives up keeps the call no longer.
func TestNextOverAFenceThatDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(bubbleSpec)
		now := s.Layout().TickOf(time.Now())
		f := &deaf{scheme: s, ask: make(chan Grant), first: Grant{Node: 1, From: now, Until: now + 10}}
		g := must(New(Config{Fence: f, MaxWait: time.Second}))
		time.Sleep(20 * time.Millisecond)
		_, err := g.Next(t.Context())
		isReason(t, err, ErrFenced)
		f.ask <- Grant{Node: 1, From: now, Until: now + 1000}
		noError(t, g.Close())
	})
}

// After a Close that failed, the fence may serve another generator: then
// the first one gives nothing back any more.
func TestShutdownAfterTheFenceWentOn(t *testing.T) {
	s := testScheme("twitter")
	away := errors.New("away")
	f := &deaf{scheme: s, first: Grant{Node: 1, Until: s.MaxTick()}, fail: away}
	first := must(New(Config{Fence: f}))
	if err := first.Close(); !errors.Is(err, away) {
		t.Fatal(err)
	}
	second := newGenerator(t, Config{Fence: f})
	f.fail = nil
	if err := first.Shutdown(t.Context()); err != nil || len(f.released) != 1 {
		t.Errorf("%v, released at %v", err, f.released)
	}
	if err := second.Close(); err != nil || len(f.released) != 2 {
		t.Errorf("%v, released at %v", err, f.released)
	}
}

// stuck is a fence that takes its time with a release, and may refuse to be
// bound again.
type stuck struct {
	deaf
	release chan struct{}
	refuse  error
}

func (f *stuck) Bind(seal func() int64) (func(), error) {
	if f.refuse != nil {
		return nil, f.refuse
	}
	return f.deaf.Bind(seal)
}

func (f *stuck) Release(ctx context.Context, gr Grant, used int64) error {
	<-f.release
	return f.deaf.Release(ctx, gr, used)
}

// A second Shutdown waits for the first one's turn to end, and no longer
// than its own ctx.
func TestShutdownWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(bubbleSpec)
		f := &stuck{deaf: deaf{scheme: s, first: Grant{Node: 1, Until: s.MaxTick()}}, release: make(chan struct{})}
		g := must(New(Config{Fence: f}))
		results := make(chan error, 2)
		for range 2 {
			go func() { results <- g.Shutdown(t.Context()) }()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		tests.Refuses(t, g.Shutdown(ctx), context.DeadlineExceeded, "node 1 stays taken until")
		close(f.release)
		for range 2 {
			noError(t, <-results)
		}
		if len(f.released) != 1 {
			t.Errorf("released at %v", f.released)
		}
	})
}

// A fence that cannot be bound again gets nothing back, and the error says
// why.
func TestShutdownWhereTheFenceCannotBeBound(t *testing.T) {
	s := testScheme("twitter")
	away := errors.New("away")
	f := &stuck{
		deaf: deaf{scheme: s, first: Grant{Node: 1, Until: s.MaxTick()}, fail: away}, release: make(chan struct{}),
	}
	close(f.release)
	g := must(New(Config{Fence: f}))
	if err := g.Close(); !errors.Is(err, away) {
		t.Fatal(err)
	}
	f.fail, f.refuse = nil, errors.New("not now")
	if err := g.Shutdown(t.Context()); !errors.Is(err, f.refuse) || len(f.released) != 1 {
		t.Errorf("%v, released at %v", err, f.released)
	}
	f.refuse = nil
	if err := g.Shutdown(t.Context()); err != nil || len(f.released) != 2 {
		t.Errorf("%v, released at %v", err, f.released)
	}
}

// paced is a world whose time the test moves. It notes how long every wait
// was to be.
type paced struct {
	world.World
	t     testing.TB
	at    time.Time
	slow  time.Duration // how long every look at the time takes
	waits []time.Duration

	// during acts while the waiter waits. It returns the number of the
	// channel that is ready, or -1.
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

// exhausted is a generator in a tick of which nothing is left, in a paced
// world.
func exhausted(t *testing.T, maxWait time.Duration) (*Generator, *paced, *fakeClock) {
	t.Helper()
	s, clock := testScheme("time=41,node=2,seq=1,tick=1500ms,epoch=1999-01-01"), newFakeClock()
	clock.Wall = s.Layout().TimeOf(1e6)
	g := newGenerator(t, Config{Fence: Unguarded(s, 1), Time: clock.Now, MaxWait: maxWait})
	take(t, g, 2)
	w := newPaced(t)
	real := g.world
	g.world = w
	t.Cleanup(func() { g.world = real })
	return g, w, clock
}

// A call waits for the clock, looks at it now and then, and gives up at the
// end of MaxWait, however short that is.
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
			clock.Advance(d)
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

// A call that gives up just when the generator is closed says that it is
// closed.
func TestClosedWhileGivingUp(t *testing.T) {
	g, w, _ := exhausted(t, time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	real := g.world
	w.during = func(time.Duration) int {
		g.world = real
		noError(t, g.Close())
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
		s := testScheme(bubbleSpec)
		now := s.Layout().TickOf(time.Now())
		g := newGenerator(t, Config{Fence: &late{script: newScript(s, Grant{Node: 1, From: now, Until: now + 1})}})
		time.Sleep(time.Millisecond)
		if id, err := g.Next(t.Context()); err != nil || must(s.Decode(id)).Tick != now+1001 {
			t.Errorf("%d, %v", id, err)
		}
	})
}

// A generator that does not wait leaves the question to the fence under
// way, and uses the answer.
func TestTheQuestionGoesOnWithoutTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(bubbleSpec)
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

// A caller who gives up ends the question to the fence. Others who wait for
// the answer ask again.
func TestOthersWaitOnForTheFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(bubbleSpec)
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
		wantErr(t, <-early, ErrFenced, "who gives up")
		f.set(Grant{Node: 1, From: now, Until: now + 90000}, nil)
		wantErr(t, <-late, nil, "who waits on")
	})
}
