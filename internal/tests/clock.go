package tests

import (
	"sync"
	"time"
)

// Clock is the time that a test has. A step moves its wall time alone, as
// an operator or NTP would. It is safe for concurrent use; only a test
// that has it alone sets Wall and Mono.
type Clock struct {
	Wall time.Time
	Mono time.Duration

	mu sync.Mutex
}

// NewClock returns a clock that stands on a day of 2026.
func NewClock() *Clock {
	return &Clock{Wall: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Mono: time.Hour}
}

// Now is a snowfence.TimeSource.
func (c *Clock) Now() (time.Time, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Wall, c.Mono
}

// Advance lets time pass.
func (c *Clock) Advance(d time.Duration) { c.move(d, d) }

// Step sets the wall time alone.
func (c *Clock) Step(d time.Duration) { c.move(d, 0) }

func (c *Clock) move(wall, mono time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Wall, c.Mono = c.Wall.Add(wall), c.Mono+mono
}
