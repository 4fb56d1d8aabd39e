package snowfence

import (
	"context"
	"errors"
	"testing"
	"time"
)

// seized is a fence that takes a grant back while it hands it over.
type seized struct {
	*script
	at   int // which grant; 1 is the first, 0 means each
	asks int // grants handed over
}

func (f *seized) Grant(ctx context.Context, after int64) (Grant, error) {
	gr, err := f.script.Grant(ctx, after)
	if err == nil {
		f.asks++
	}
	if err == nil && (f.at == 0 || f.asks == f.at) {
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
// not used, and the generator asks again, as long as it may wait.
func TestRevokedBetweenBindAndInstall(t *testing.T) {
	clock, s := newFakeClock(), testScheme(t, "twitter")
	now := s.Layout().TickOf(clock.wall)
	f := &seized{script: newScript(s, Grant{Node: 1, From: now, Until: now + 1000}), at: 1}
	g := newGenerator(t, Config{Fence: f, Time: clock.now})
	if gr, ok := g.Grant(); !ok || gr.From != now+1000 || f.asks != 2 {
		t.Fatalf("after %d grants the generator uses %+v, %v", f.asks, gr, ok)
	}
	f = &seized{script: newScript(s, Grant{Node: 1, From: now, Until: now + 1000})}
	_, err := New(Config{Fence: f, Time: clock.now, MaxWait: time.Millisecond})
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
