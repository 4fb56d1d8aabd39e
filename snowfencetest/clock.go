package snowfencetest

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/snowfence/snowfence/internal/world"
)

// clock is the time of a kit. Outside of a bubble it moves when the test or
// a wait moves it; inside, it moves with the time of the bubble.
type clock struct {
	bubble bool

	mu       sync.Mutex
	wall     time.Time
	mono     time.Duration
	isFrozen bool      // it stands still, whatever passes
	pace     time.Time // never stands still: waits end by it
	last     time.Time // of the bubble, when the clock was last moved
}

// bubbleBefore is later than the time of any bubble, which begins in 2000,
// and earlier than the time of any machine.
var bubbleBefore = time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)

func newClock(start time.Time) *clock {
	now := time.Now()
	return &clock{bubble: now.Before(bubbleBefore), wall: start, pace: start, last: now}
}

// readTime is a [snowfence.TimeSource].
func (c *clock) readTime() (time.Time, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.followBubble()
	return c.wall, c.mono
}

// followBubble moves the clock by what passed in the bubble. The mutex must
// be held.
func (c *clock) followBubble() {
	if c.bubble {
		now := time.Now()
		c.passTime(now.Sub(c.last))
		c.last = now
	}
}

// passTime moves the clock unless it is held. The mutex must be held.
func (c *clock) passTime(d time.Duration) {
	c.pace = c.pace.Add(d)
	if !c.isFrozen {
		c.wall, c.mono = c.wall.Add(d), c.mono+d
	}
}

// advanceBy moves the clock, and lets it run again.
func (c *clock) advanceBy(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.followBubble()
	c.isFrozen = false
	c.passTime(d)
}

func (c *clock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.followBubble()
	c.wall = c.wall.Add(d)
}

func (c *clock) holdStill(held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.followBubble()
	c.isFrozen = held
}

// frozen is the world of a generator outside of a bubble: waiting moves the
// clock, and goroutines run at once, so that each run is the same.
type frozen struct{ *clock }

func (w frozen) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pace
}

// Nothing that a kit makes depends on random numbers.
func (frozen) Uint64() uint64 { return rand.Uint64() }
func (frozen) Text() string   { return strconv.FormatUint(rand.Uint64(), 36) + "-kit" }
func (frozen) Go(f func())    { f() }

// No test is resumed from a snapshot.
func (frozen) Machine() world.Machine { return world.Real().Machine() }

func (w frozen) Wait(d time.Duration, chans ...<-chan struct{}) int {
	var c [3]<-chan struct{}
	copy(c[:], chans)
	for i := range c {
		select {
		case <-c[i]:
			return i
		default:
		}
	}
	if d >= 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.passTime(d)
		return -1
	}
	select { // another goroutine does it soon
	case <-c[0]:
		return 0
	case <-c[1]:
		return 1
	case <-c[2]:
		return 2
	}
}

func (frozen) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}
