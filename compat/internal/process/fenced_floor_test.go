package process

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// A grant far ahead of the clock, of which nothing was used, moves nobody's time.
func TestUnusedGrantRaisesNoFloor(t *testing.T) {
	r, clk := newRegistry(), newClock()
	f := grants(t, bwmarrin, 5, clk)
	f.grant.From += 30_000
	h := on(t, r, f, Options{Time: clk.now})
	closed(t, h)
	must(t, open(t, r, bwmarrin, 5, Options{Time: clk.now}))
}

// A fence that ends lowers no floor that others raised meanwhile.
func TestFenceLowersNoFloor(t *testing.T) {
	r, clk := newRegistry(), newClock()
	var s seen
	h := on(t, r, grants(t, bwmarrin, 5, clk), Options{Time: clk.now})
	s.add(t, must(t, h))
	clk.step(time.Hour)
	bare := open(t, r, bwmarrin, 6, Options{Time: clk.now})
	s.add(t, must(t, bare))
	closed(t, bare)
	closed(t, open(t, r, bwmarrin, 6, Options{Time: clk.now})) // lets the one before go
	clk.step(-time.Hour)
	closed(t, h)
	clk.advance(time.Second)
	if id, err := open(t, r, bwmarrin, 7, Options{Time: clk.now}).TryNext(); err == nil {
		t.Errorf("%d, below the floor", id)
	}
}

// A grant that ends below the floor is of no use: the fence is asked for a later one.
func TestFenceIsAskedForTicksAboveTheFloor(t *testing.T) {
	r, clk := newRegistry(), newClock()
	o := Options{Time: clk.now}
	clk.step(2 * time.Minute)
	bare := open(t, r, bwmarrin, 9, o)
	must(t, bare)
	closed(t, bare)
	closed(t, open(t, r, bwmarrin, 9, o)) // lets the one before go
	clk.step(-2 * time.Minute)
	f := grants(t, bwmarrin, 5, clk)
	if _, err := r.on(f, o); !errors.Is(err, errGone) {
		t.Errorf("a grant that ends below the floor: %v", err)
	}
	floor := f.grant.From + 120_001
	if !slices.Equal(f.past, []int64{floor}) {
		t.Errorf("it was asked for more than %d, not %d", f.past, floor)
	}
	f.set(func(f *granting) { f.grant.Until = floor + 1 })
	h := on(t, r, f, o)
	if id, err := h.TryNext(); err == nil {
		t.Errorf("%d below the floor", id)
	}
	clk.advance(2*time.Minute + time.Millisecond)
	if got := tick(t, h, must(t, h)); got != floor {
		t.Errorf("tick %d, the floor is %d", got, floor)
	}
	clk.advance(time.Hour)
	later := grants(t, bwmarrin, 6, clk)
	closed(t, on(t, r, later, o))
	if !slices.Equal(later.past, []int64{later.grant.From}) {
		t.Errorf("far above the floor it was asked for more than %d, not %d", later.past, later.grant.From)
	}
}

// A grant that begins above all that the process used begins where it was granted.
func TestGrantBeginsWhereItWasGranted(t *testing.T) {
	r, clk := newRegistry(), newClock()
	f := grants(t, bwmarrin, 5, clk)
	f.grant.From += 10
	h := on(t, r, f, Options{Time: clk.now})
	if id, err := h.TryNext(); err == nil {
		t.Errorf("%d before the grant", id)
	}
	clk.advance(10 * time.Millisecond)
	if got := tick(t, h, must(t, h)); got != f.grant.From {
		t.Errorf("tick %d, granted from %d", got, f.grant.From)
	}
}

// A grant that others used up meanwhile says so, and enters nothing.
func TestGrantBelowTheFloor(t *testing.T) {
	r, clk := newRegistry(), newClock()
	o := Options{Time: clk.now, Lead: 50}
	f := grants(t, "time=41,node=10,seq=1", 5, clk)
	f.grant.Until = f.grant.From + 20
	deaf := &deaf{f}
	bare := open(t, r, "time=41,node=10,seq=1", 5, o)
	for range 60 {
		must(t, bare)
	}
	closed(t, bare)
	_, err := r.on(deaf, o)
	if err == nil || !strings.Contains(err.Error(), "this process used all times until") {
		t.Errorf("%v", err)
	}
	closed(t, open(t, r, "time=41,node=10,seq=1", 5, o))
}

// deaf grants what it has, whatever it is asked to reach past.
type deaf struct{ *granting }

func (f *deaf) Grant(context.Context, int64) (snowfence.Grant, error) { return f.grant, nil }

// A renewal needs not reach above a floor that others raised since the grant.
func TestRenewalAfterOthersRaisedTheFloor(t *testing.T) {
	r, clk := newRegistry(), newClock()
	var s seen
	o := Options{Time: clk.now}
	f := grants(t, bwmarrin, 5, clk)
	h := on(t, r, f, o)
	s.add(t, must(t, h))
	clk.step(time.Hour)
	bare := open(t, r, bwmarrin, 6, o)
	s.add(t, must(t, bare))
	closed(t, bare)
	closed(t, open(t, r, bwmarrin, 6, o)) // lets the one before go
	clk.step(-time.Hour)
	f.set(func(f *granting) { f.grant.Until += 60_000 })
	clk.advance(70 * time.Second)
	s.add(t, must(t, h))
}
