package server

import (
	"math"
	"sync"
	"sync/atomic"
)

// givenOut is the last number that was given out, of each period of a dated
// sequence.
type givenOut struct {
	down bool         // the numbers fall
	last atomic.Int64 // where there are no periods; none before any

	mu      sync.Mutex
	periods map[int64]int64 // the last ones
	latest  int64           // the period of the last number
}

// keptPeriods is of how many periods the last number is known.
const keptPeriods = 4

// none stands for no number. Every other value comes after it.
func (g *givenOut) none() int64 {
	if g.down {
		return math.MaxInt64
	}
	return math.MinInt64
}

// isAfter reports whether a number comes after another one.
func (g *givenOut) isAfter(a, b int64) bool { return !g.down && a > b || g.down && a < b }

// noteNumber keeps a number. Takers may come in another order than they
// took.
func (g *givenOut) noteNumber(period, last int64) {
	if period == 0 {
		for before := g.last.Load(); g.isAfter(last, before); before = g.last.Load() {
			if g.last.CompareAndSwap(before, last) {
				return
			}
		}
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.latest = period
	if before, ok := g.periods[period]; ok && !g.isAfter(last, before) {
		return
	}
	if g.periods == nil {
		g.periods = map[int64]int64{}
	}
	g.periods[period] = last
	for len(g.periods) > keptPeriods {
		earliest := period
		for other := range g.periods {
			earliest = min(earliest, other)
		}
		delete(g.periods, earliest)
	}
}

// period returns the period of the last number; 0 where there are no
// periods.
func (g *givenOut) period() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.latest
}

// lastOf returns the last number of a period, and whether one was given
// out.
func (g *givenOut) lastOf(period int64) (int64, bool) {
	if period == 0 {
		last := g.last.Load()
		return last, last != g.none()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	last, ok := g.periods[period]
	return last, ok
}
