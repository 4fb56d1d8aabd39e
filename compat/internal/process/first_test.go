package process

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
)

// A layer whose original leaves out the first ticks has no ID of them, and a floor above them
// stays where it is.
func TestFirstTick(t *testing.T) {
	r, c := newRegistry(), newClock()
	spec := "time=41,node=10,seq=2,epoch=" + c.wall.Format(time.RFC3339)
	o := Options{First: 3, Time: c.now}
	h := open(t, r, spec, 7, o)
	if id, err := h.TryNext(); !errors.Is(err, snowfence.ErrExhausted) {
		t.Errorf("before the first tick: %d, %v", id, err)
	}
	c.advance(3 * time.Millisecond)
	if got := tick(t, h, must(t, h)); got != 3 {
		t.Errorf("the first ID has tick %d", got)
	}
	c.advance(5 * time.Millisecond)
	if got := tick(t, h, must(t, h)); got != 8 {
		t.Errorf("tick %d", got)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, r, spec, 7, o) // it has its own clock, so the old one was let go
	if id, err := again.TryNext(); !errors.Is(err, snowfence.ErrExhausted) {
		t.Errorf("in a tick that was used: %d, %v", id, err)
	}
	c.advance(time.Millisecond)
	if got := tick(t, again, must(t, again)); got != 9 {
		t.Errorf("after a restart: tick %d", got)
	}
}

// NextSoon says why after a second, where Next goes on waiting.
func TestNextSoonGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		h := open(t, newRegistry(), "time=41,node=10,seq=1", 7, Options{Time: c.now})
		defer h.Close()
		for range 2 {
			if _, err := h.NextSoon(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now() // the clock of the generator stands still
		if _, err := h.NextSoon(context.Background()); !errors.Is(err, snowfence.ErrExhausted) {
			t.Errorf("a full tick: %v", err)
		}
		if waited := time.Since(start); waited < time.Second || waited > 2*time.Second {
			t.Errorf("it waited %v", waited)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := h.NextSoon(context.Background()); err != snowfence.ErrClosed {
			t.Errorf("after Close: %v", err)
		}
	})
}
