package snowfence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
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

// fakeClock is a clock that a test moves.
type fakeClock = tests.Clock

var newFakeClock = tests.NewClock

// stepped is a TimeSource for synctest bubbles: the bubble's time, with a
// wall clock that can be stepped.
type stepped struct {
	start  time.Time
	offset atomic.Int64
}

func newStepped() *stepped { return &stepped{start: time.Now()} }

func (c *stepped) now() (time.Time, time.Duration) {
	now := time.Now()
	return now.Add(time.Duration(c.offset.Load())).Round(0), now.Sub(c.start)
}

func (c *stepped) step(d time.Duration) { c.offset.Add(int64(d)) }

// bubbleSpec is Twitter's division with an epoch before the year 2000, in
// which synctest's clock starts.
const bubbleSpec = "time=41,node=10,seq=12,epoch=1999-01-01"

// script is a fence that gives what the test tells it to, and keeps a
// ledger of it. With nothing to give, Grant waits.
type script struct {
	binding
	scheme *Scheme

	mu       sync.Mutex
	grant    Grant
	err      error
	changed  chan struct{}
	given    []Grant // every grant handed out, a renewal as its last state
	released []released
	seal     func() int64
}

type released struct {
	grant Grant
	used  int64
}

func newScript(s *Scheme, g Grant) *script {
	return &script{scheme: s, grant: g, changed: make(chan struct{})}
}

func (f *script) Scheme() *Scheme { return f.scheme }

func (f *script) Bind(seal func() int64) (func(), error) {
	f.mu.Lock()
	f.seal = seal
	f.mu.Unlock()
	return f.binding.Bind(seal)
}

func (f *script) Grant(ctx context.Context, after int64) (Grant, error) {
	for {
		f.mu.Lock()
		g, err, changed := f.grant, f.err, f.changed
		if err == nil && g.Until > after {
			if n := len(f.given) - 1; n >= 0 && f.given[n].Node == g.Node && f.given[n].From == g.From {
				f.given[n] = g
			} else {
				f.given = append(f.given, g)
			}
		}
		f.mu.Unlock()
		if err != nil || g.Until > after {
			return g, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Grant{}, ctx.Err()
		}
	}
}

func (f *script) Held(after int64) (Grant, bool) { return atHand(f, after) }

// atHand is Held for fences of tests: what they grant to a caller that does
// not wait.
func atHand(f Fence, after int64) (Grant, bool) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	gr, err := f.Grant(ctx, after)
	return gr, err == nil
}

func (f *script) Release(_ context.Context, g Grant, used int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.released = append(f.released, released{g, used})
	return nil
}

// set gives another grant or a renewed one from now on.
func (f *script) set(g Grant, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.grant, f.err = g, err
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *script) grants() []Grant {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.given)
}

func newGenerator(t testing.TB, c Config) *Generator {
	t.Helper()
	g := must(New(c))
	t.Cleanup(func() {
		noError(t, g.Close())
	})
	return g
}

// take returns n IDs from TryNext, and fails the test where there are
// fewer.
func take(t testing.TB, g *Generator, n int) []ID {
	t.Helper()
	ids := make([]ID, 0, n)
	for range n {
		id, err := g.TryNext()
		if err != nil {
			t.Fatalf("ID %d of %d: %v", len(ids)+1, n, err)
		}
		ids = append(ids, id)
	}
	return ids
}

// takeAll returns IDs from TryNext until it refuses, at most limit, and the
// refusal.
func takeAll(t testing.TB, g *Generator, limit int) ([]ID, error) {
	t.Helper()
	var ids []ID
	for len(ids) < limit {
		id, err := g.TryNext()
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	t.Fatalf("no end after %d IDs", limit)
	return nil, nil
}

var (
	checkIncreasing = tests.Increasing[ID]
	checkUnique     = tests.Unique[ID] // sorts them
)

// checkInside fails for an ID whose node, tick or sequence number no grant
// covers.
func checkInside(t testing.TB, s *Scheme, ids []ID, grants []Grant) {
	t.Helper()
	l := s.Layout()
	for _, id := range ids {
		p := must(s.Decode(id))
		ok := slices.ContainsFunc(grants, func(g Grant) bool {
			first, last := g.FirstSeq, g.LastSeq
			if first == 0 && last == 0 {
				first, last = l.First, l.Last
			}
			return p.Node >= g.Node && p.Node < g.Node+max(g.Nodes, 1) && p.Tick >= g.From && p.Tick < g.Until &&
				p.Sequence >= first && p.Sequence <= last
		})
		if !ok {
			t.Fatalf("%d = %+v is outside of all grants %+v", id, p, grants)
		}
	}
}

func isReason(t testing.TB, err, want error) *WaitError {
	t.Helper()
	var w *WaitError
	if !errors.Is(err, want) || !errors.As(err, &w) {
		t.Fatalf("the error is %v, want a WaitError of %v", err, want)
	}
	return w
}

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// fails reports a call without an error.
var fails = tests.Fails

// says reports an error without a text, and a call without an error.
var says = tests.Says
