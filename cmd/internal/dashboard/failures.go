package dashboard

import (
	"slices"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// minute is how many samples the figures of the last minute are made of.
const minute = 60

// failure counts the failures of one kind.
type failure struct {
	Where  string `json:"where"` // a wire, or "store"
	Kind   string `json:"kind"`
	Ours   bool   `json:"ours"` // the server's or its store's trouble, and not a mistake of the caller
	Minute int64  `json:"minute"`
	Total  int64  `json:"total"` // since the start
}

// callers are the kinds of errors that callers mend themselves.
var callers = []string{
	server.Invalid.Name(), server.NoNamespace.Name(), server.Exists.Name(), server.Lost.Name(),
	server.Refused.Name(), server.Anonymous.Name(), server.Denied.Name(), server.TooMuch.Name(),
	server.NoSequence.Name(), server.NoPeriod.Name(),
}

// failures remembers how often requests and round trips to the store
// failed.
type failures struct {
	totals [][]failure // the totals at the last samples, at most a minute of them, oldest first
	ours   []float32   // failed requests a second, of all samples
	theirs []float32   // the same of requests that were refused
}

// takeSample takes a sample, elapsed seconds after the last one.
func (f *failures) takeSample(s *server.Service, l *server.StoreLatency, elapsed float64) {
	now := countFailures(s, l)
	var ours, theirs int64
	if n := len(f.totals); n > 0 {
		for i, was := range f.totals[n-1] {
			switch more := now[i].Total - was.Total; {
			case was.Where == inStore: // the requests that failed for it count
			case was.Ours:
				ours += more
			default:
				theirs += more
			}
		}
	}
	f.ours = appendSample(f.ours, float32(float64(ours)/elapsed))
	f.theirs = appendSample(f.theirs, float32(float64(theirs)/elapsed))
	f.totals = append(f.totals, now)
	if len(f.totals) > minute+1 {
		f.totals = slices.Delete(f.totals, 0, 1)
	}
}

// inStore stands beside the names of wires, for round trips that failed.
const inStore = "store"

// countFailures returns all there can be, always in the same order.
func countFailures(s *server.Service, l *server.StoreLatency) (list []failure) {
	s.Failures(func(wire, kind string, n int64) {
		list = append(list, failure{Where: wire, Kind: kind, Ours: !slices.Contains(callers, kind), Total: n})
	})
	l.Each(func(o server.Op, _ server.LatencyCounts, failed int64) {
		list = append(list, failure{Where: inStore, Kind: o.Name(), Ours: true, Total: failed})
	})
	return list
}

// latest returns all failures, and their count in the last minute.
func (f *failures) latest() (list []failure) {
	if len(f.totals) == 0 {
		return nil
	}
	first, last := f.totals[0], f.totals[len(f.totals)-1]
	for i, now := range last {
		if now.Minute = now.Total - first[i].Total; now.Total > 0 {
			list = append(list, now)
		}
	}
	return list
}
