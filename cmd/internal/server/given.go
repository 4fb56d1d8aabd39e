package server

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/sequence"
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

// keptPeriods bounds the periods with a known last number.
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

// meanRate is the recent rate of a counter, from two samples of it.
type meanRate struct {
	mu            sync.Mutex
	before, later sample
}

type sample struct {
	at time.Time
	n  int64
}

// rateTime is the shortest span of a rate, but for the first.
const rateTime = 10 * time.Second

// of returns the rate when the counter is n.
func (m *meanRate) of(n int64, now time.Time) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.later.at) >= rateTime {
		m.before, m.later = m.later, sample{now, n}
	}
	if took := now.Sub(m.before.at); took > 0 {
		return float64(n-m.before.n) / took.Seconds()
	}
	return 0
}

// LastNumber returns the last number; see [Sequences.Last].
func (sq *Sequence) LastNumber(ctx context.Context, period int64) (last int64, any bool, err error) {
	if period == 0 {
		period = sq.Present()
	} else if err := sq.CheckPeriod(period); err != nil {
		return 0, false, err
	}
	if last, any = sq.given.lastOf(period); any {
		return last, true, nil
	}
	ctx, cancel := WithStoreTimeout(ctx)
	defer cancel()
	last, any, err = sequence.Highest(ctx, sq.counts, sq.Name, period)
	return last, any, sequenceError(sq.Name, err)
}
