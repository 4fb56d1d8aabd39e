package clock

import (
	"math"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/draw"
	"github.com/snowfence/snowfence/internal/tests"
)

var epoch = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// newFakeClock returns a clock that a test moves.
var newFakeClock = tests.NewClock

// The multiplication by a reciprocal is the division, for every tick length
// and the whole range.
func TestTicksIsADivision(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		var c Clock
		length := t.Range(1000, math.MaxInt64/2)
		if t.Bool() {
			length = 1 << t.Int(10, 61)
		}
		c.Init(epoch, time.Duration(length), newFakeClock().Now, false)
		ns := t.Range(0, math.MaxInt64)
		if t.Bool() {
			ns = max(ns/length*length-t.Range(0, 1), 0)
		}
		if got, want := c.ticks(ns), ns/length; got != want {
			t.Fatalf("%d / %d = %d, want %d", ns, length, got, want)
		}
	})
}

// Whatever the wall clock does, the anchored clock never goes back, runs at
// least at half speed, follows forward within SyncEvery, and comes back to
// the truth.
func TestAnchoredClock(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		fake := newFakeClock()
		var c Clock
		c.Init(epoch, time.Millisecond, fake.Now, false)
		wall := func() int64 { return int64(fake.Wall.Sub(epoch)) }
		last, _, _, _ := c.now()
		for range t.Int(1, 60) {
			if t.Int(0, 4) == 0 {
				fake.Step(time.Duration(t.Range(-int64(time.Hour), int64(time.Hour))))
			}
			d := time.Duration(t.Range(0, int64(30*time.Millisecond)))
			fake.Advance(d)
			now, _, _, _ := c.now()
			if now < last {
				t.Fatalf("went back by %d ns", last-now)
			}
			if now < last+int64(d)/2-1 {
				t.Fatalf("%v went by and the clock made %d ns", d, now-last)
			}
			if d >= SyncEvery && now < wall() {
				t.Fatalf("did not follow: %d ns behind", wall()-now)
			}
			last = now
		}
		ahead := max(last-wall(), 0)
		for range 6 { // the first only notices
			fake.Advance(time.Duration(ahead)/2 + SyncEvery)
			c.now()
		}
		now, _, _, _ := c.now()
		if off := now - wall(); off < 0 || off > 2*int64(slewFrom) {
			t.Fatalf("was %d ns ahead and is off by %d ns after twice that", ahead, off)
		}
	})
}

// A tick is sure for no longer than it lasts, and never over a comparison
// with the wall clock that is due.
func TestSureUntil(t *testing.T) {
	var c Clock
	c.Init(epoch, time.Millisecond, nil, false)
	for range 2000 {
		tick, sure := c.Read()
		if sure == 0 {
			continue // the clocks of this machine are being adjusted
		}
		ns, _, e, due := c.now()
		if c.ticks(ns) == tick && sure > e+(tick+1)*int64(time.Millisecond)-ns+int64(slewFrom) {
			t.Fatalf("tick %d is said to be sure until %d; it ends at %d",
				tick, sure, e+(tick+1)*int64(time.Millisecond)-ns)
		}
		if sure > due {
			t.Fatalf("sure until %d, though a comparison is due at %d", sure, due)
		}
	}
	var raw Clock
	raw.Init(epoch, time.Millisecond, nil, true)
	if _, sure := raw.Read(); sure != 0 {
		t.Error("a clock with steps back is never sure")
	}
}

// The clock is right for as long as a duration from the epoch fits its
// number, with the earliest epoch until 2192.
func TestClockFarFromItsEpoch(t *testing.T) {
	for _, epoch := range []int{1900, 1970, 2025, 2200} {
		for _, year := range []int{1971, 2026, 2047, 2100, 2191} {
			from := time.Date(epoch, 1, 1, 0, 0, 0, 0, time.UTC)
			fake := newFakeClock()
			fake.Wall = time.Date(year, 7, 1, 0, 0, 0, 0, time.UTC)
			var c Clock
			c.Init(from, time.Millisecond, fake.Now, false)
			for range 3 {
				if got, want := c.Tick(), fake.Wall.UnixMilli()-from.UnixMilli(); got != want {
					t.Errorf("epoch %d, year %d: tick %d, want %d", epoch, year, got, want)
				}
				fake.Advance(time.Hour)
			}
		}
	}
}

func TestSteady(t *testing.T) {
	fake := newFakeClock()
	c := Steady(fake.Now, false)
	now := c.Time
	wall, mono := now()
	if !wall.Equal(fake.Wall) {
		t.Fatalf("starts at %v, not at %v", wall, fake.Wall)
	}
	fake.Step(-time.Hour)
	fake.Advance(time.Minute)
	back, mono2 := now()
	if back.Before(wall.Add(30*time.Second)) || mono2-mono != time.Minute {
		t.Errorf("a minute after a step back it is %v later, and %v by monotonic time", back.Sub(wall), mono2-mono)
	}
	fake.Step(3 * time.Hour)
	fake.Advance(SyncEvery)
	if wall, _ = now(); !wall.Equal(fake.Wall) {
		t.Errorf("after a step forward it is %v, not %v", wall, fake.Wall)
	}
	corrections := c.Corrections()
	fake.Step(-2 * time.Hour)
	if wall, _ = now(); !wall.After(fake.Wall.Add(time.Hour)) || !c.Wall().Equal(fake.Wall) {
		t.Errorf("after a step back it is %v, and the wall clock says %v", wall, c.Wall())
	}
	c.Correct()
	if wall, _ = now(); !wall.Equal(fake.Wall) || c.Corrections() == corrections {
		t.Errorf("corrected it is %v, not %v", wall, fake.Wall)
	}
	fake.Advance(time.Second)
	if wall, _ = now(); !wall.Equal(fake.Wall) {
		t.Errorf("a second later it is %v, not %v", wall, fake.Wall)
	}
}
