package scale

import (
	"os"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// watch measures holders, servers and store from begin to end.
type watch struct {
	testing.TB
	pair    *pair
	holders *holders
	store   store.Store
	server  *servers.Process // of the store; nil for a file
	first   int              // server that runs
	start   totals
}

// totals are what was used and done so far.
type totals struct {
	at                          time.Time
	own, servers, stores, trips float64 // seconds of processor time, and round trips
	writes                      int64   // of records of leases
}

// spent is what some time took.
type spent struct {
	seen
	seconds, own, servers, store, trips float64
	writes                              int64
}

func (w *watch) totals() (t totals) {
	w.Helper()
	t = totals{at: time.Now(), own: cpu(os.Getpid())}
	for i := w.first; i < len(w.pair.servers); i++ {
		t.servers += cpu(w.pair.servers[i].Pid())
		t.trips += w.pair.trips(w, i)
	}
	if w.server != nil {
		t.stores = cpu(w.server.Pid())
	}
	rs, err := scope.Namespaces(w.store).Leases(w.Context(), namespace)
	must(w, err)
	for _, r := range rs {
		t.writes += r.Revision
	}
	return t
}

func (w *watch) begin() {
	w.Helper()
	w.start = w.totals()
	w.holders.since()
}

func (w *watch) end() spent {
	w.Helper()
	s, t := w.start, w.totals()
	return spent{
		w.holders.since(), t.at.Sub(s.at).Seconds(), t.own - s.own, t.servers - s.servers, t.stores - s.stores,
		t.trips - s.trips, t.writes - s.writes,
	}
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
