package server

import (
	"sync"
	"time"
)

// meanRate is how much came a second over the last while, from looks at a
// counter.
type meanRate struct {
	mu            sync.Mutex
	before, later sample
}

type sample struct {
	at time.Time
	n  int64
}

// rateTime is how long a rate is of at least, after the first while.
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
