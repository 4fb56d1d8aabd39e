package snowfence

import (
	"errors"
	"testing"
)

// grant asks a fence, which has to answer.
func grant(t *testing.T, f Fence, after int64) Grant {
	t.Helper()
	g, err := f.Grant(t.Context(), after)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A bare number takes the first and the last node of a layout, and no other number.
func TestUnguardedNodes(t *testing.T) {
	s := testScheme(t, "twitter")
	for _, node := range []int64{-1, 0, s.Nodes() - 1, s.Nodes()} {
		_, err := Unguarded(s, node).Grant(t.Context(), 0)
		if inside := node >= 0 && node < s.Nodes(); inside != (err == nil) {
			t.Errorf("node %d: %v", node, err)
		}
	}
}

// A static fence grants the layout to its last tick, from what was used on.
func TestStaticTicks(t *testing.T) {
	s := testScheme(t, "twitter")
	f := Unguarded(s, 3)
	last := s.MaxTick()
	if g := grant(t, f, last); g.From != 0 || g.Until != last+1 {
		t.Errorf("granted %+v, and the last tick is %d", g, last)
	}
	if _, err := f.Grant(t.Context(), last+1); !errors.Is(err, ErrLifetime) {
		t.Errorf("past the last tick: %v", err)
	}
	for _, used := range []int64{100, 50} { // a late word lowers nothing
		if err := f.Release(t.Context(), Grant{}, used); err != nil {
			t.Fatal(err)
		}
		if g := grant(t, f, 0); g.From != 100 {
			t.Errorf("after %d was used as well, ticks from %d on are granted, not from 100", used, g.From)
		}
	}
}
