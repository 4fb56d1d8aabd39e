package scale

import (
	"testing"
	"time"
)

// watch measures holders and servers from begin to end.
type watch struct {
	testing.TB
	pair    *pair
	holders *holders
	first   int // server that runs
	at      time.Time
	used    float64
}

// spent is what some time took.
type spent struct {
	seen
	seconds, servers float64 // servers: of processor time
}

func (w *watch) cpu() (sum float64) {
	for _, p := range w.pair.servers[w.first:] {
		sum += p.CPU(w)
	}
	return sum
}

func (w *watch) begin() {
	w.at, w.used = time.Now(), w.cpu()
	w.holders.since()
}

func (w *watch) end() spent {
	return spent{w.holders.since(), time.Since(w.at).Seconds(), w.cpu() - w.used}
}

// judge fails the run if a tick was granted twice, or a holder was without
// a grant.
func (w *watch) judge(when string, s seen) {
	w.Helper()
	if s.twice > 0 || s.lost > 0 || s.gaps > 0 || len(s.why) > 0 {
		w.Errorf("%s: %d grants overlap others, %d leases were lost, %d times a holder had no grant, for %v at most; "+
			"answers that are no lease: %v", when, s.twice, s.lost, s.gaps, s.longestGap, s.why)
	}
}
