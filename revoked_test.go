package snowfence

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// seized is a fence that takes a grant back while it hands it over.
type seized struct {
	*script
	at   int // which grant; 1 is the first
	asks int // grants handed over
}

func (f *seized) Grant(ctx context.Context, after int64) (Grant, error) {
	gr, err := f.script.Grant(ctx, after)
	if err == nil {
		f.asks++
	}
	if err == nil && f.asks == f.at {
		f.seal()
		// What is handed over is gone by now; the next one is another.
		next := gr
		next.From, next.Until = gr.Until, gr.Until+1000
		f.set(next, nil)
	}
	return gr, err
}

func (f *seized) Held(after int64) (Grant, bool) { return atHand(f, after) }

// TestRevokedBetweenBindAndInstall: a first grant that is taken back before the generator has it is
// not used.
func TestRevokedBetweenBindAndInstall(t *testing.T) {
	clock, s := newFakeClock(), testScheme(t, "twitter")
	now := s.Layout().TickOf(clock.wall)
	f := &seized{script: newScript(s, Grant{Node: 1, From: now, Until: now + 1000}), at: 1}
	g, err := New(Config{Fence: f, Time: clock.now})
	if err == nil {
		id, err := g.TryNext()
		t.Fatalf("a generator uses a grant that was taken back: %v, %v", id, err)
	}
	var w *WaitError
	if !errors.As(err, &w) || !errors.Is(err, ErrFenced) {
		t.Errorf("the error is %v", err)
	}
}

// TestRevokedBetweenAnswerAndInstall: so is a later one, and the generator asks again.
func TestRevokedBetweenAnswerAndInstall(t *testing.T) {
	clock, s := newFakeClock(), testScheme(t, "twitter")
	now := s.Layout().TickOf(clock.wall)
	f := &seized{script: newScript(s, Grant{Node: 1, From: now, Until: now + 1}), at: 2}
	g := newGenerator(t, Config{Fence: f, Time: clock.now})
	take(t, g, 1)
	lost := Grant{Node: 2, From: now + 1, Until: now + 1000}
	f.set(lost, nil)
	for range 2 {
		clock.advance(500 * s.Layout().Tick)
		id, err := g.TryNext() // asks for the next grant, and then has the one after it
		if err != nil {
			continue
		}
		if p, err := s.Decode(id); err != nil || p.Tick < lost.Until {
			t.Errorf("an ID of tick %d, of a grant to tick %d that was taken back (%v)", p.Tick, lost.Until, err)
		}
		return
	}
	t.Error("no ID of the grant after the one that was taken back")
}

// slow is a fence whose second answer waits until it is let through, whatever becomes of who asked.
type slow struct {
	*script
	asks    int
	asked   bool
	release chan struct{}
	during  bool // it was given something back while it was being asked
}

func (f *slow) Grant(ctx context.Context, after int64) (Grant, error) {
	if f.asks++; f.asks > 1 && ctx.Err() == nil {
		f.asked = true
		<-f.release
		f.asked = false
		return Grant{}, errors.New("too late")
	}
	return f.script.Grant(ctx, after)
}

func (f *slow) Held(after int64) (Grant, bool) { return atHand(f, after) }

func (f *slow) Release(ctx context.Context, g Grant, used int64) error {
	f.during = f.during || f.asked
	return f.script.Release(ctx, g, used)
}

// TestCloseWaitsForTheQuestionUnderWay: a fence is not given anything back while it is being asked.
func TestCloseWaitsForTheQuestionUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(t, bubbleSpec)
		clock := newStepped()
		wall, _ := clock.now()
		now := s.Layout().TickOf(wall)
		f := &slow{script: newScript(s, Grant{Node: 1, From: now, Until: now + 1}), release: make(chan struct{})}
		g, err := New(Config{Fence: f, Time: clock.now})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
		_, _ = g.TryNext() // asks for more, in the background
		synctest.Wait()
		if !f.asked {
			t.Fatal("the fence is not being asked: the test sees nothing")
		}
		closed := make(chan error, 1)
		go func() { closed <- g.Close() }()
		synctest.Wait()
		if f.during || len(f.released) > 0 {
			t.Error("the grant was given back while the fence was being asked")
		}
		close(f.release)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if len(f.released) != 1 {
			t.Errorf("given back %d times after the answer, want once", len(f.released))
		}
	})
}
