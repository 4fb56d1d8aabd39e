package snowfence

import (
	"context"
	"errors"
	"testing"
	"time"
)

// lostFence gives one grant, and takes it back when it is told to.
type lostFence struct {
	s    *Scheme
	seal func() int64
	lost bool
}

func (f *lostFence) Scheme() *Scheme { return f.s }

func (f *lostFence) Bind(seal func() int64) (func(), error) {
	f.seal = seal
	return func() {}, nil
}

func (f *lostFence) Grant(context.Context, int64) (Grant, error) {
	if f.lost {
		return Grant{}, errors.New("the grant was lost")
	}
	return Grant{Node: 1, From: 0, Until: f.s.MaxTick() + 1}, nil
}

func (f *lostFence) Held(after int64) (Grant, bool) { return atHand(f, after) }

func (f *lostFence) Release(context.Context, Grant, int64) error { return nil }

// A grant may be sealed while a caller of a coarse generator is about to say what time it
// is. The handle's block is of the past then, whoever comes last.
func TestCoarseHandleAfterSeal(t *testing.T) {
	s := testScheme(t, "twitter")
	for k := 1; k <= 6; k++ { // at which of the readings of the clock
		f := &lostFence{s: s}
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		mono, readings := time.Duration(0), 0
		source := func() (time.Time, time.Duration) {
			if readings > 0 {
				if readings--; readings == 0 {
					f.lost = true
					f.seal()
				}
			}
			return start.Add(mono), mono
		}
		g, err := New(Config{Fence: f, Coarse: true, Time: source, MaxWait: -1, Lead: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		g.ticking.Store(true) // no ticker: this test reads the clock alone
		h := g.Local()
		for range 100 { // the handle's blocks grow
			if _, err := h.TryNext(); err != nil {
				t.Fatal(err)
			}
		}
		mono += 20 * time.Millisecond
		readings = k
		for n := 0; n < 2000 && !f.lost; n++ {
			if _, err := h.TryNext(); err != nil && !f.lost {
				t.Fatal(err)
			}
		}
		if !f.lost {
			continue // it is not read so often
		}
		for range 10 {
			if id, err := h.Next(t.Context()); err == nil {
				t.Fatalf("lost at reading %d: the handle still made %d", k, id)
			}
		}
	}
}
