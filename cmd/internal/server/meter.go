package server

import (
	"strings"
	"sync/atomic"
	"time"
)

// Wire is a way in which requests come.
type Wire int

// The wires.
const (
	HTTP Wire = iota
	RPC
	RESP
	wires
)

// Name is the wire in words, for metrics.
func (w Wire) Name() string { return [...]string{"http", "rpc", "resp"}[w] }

// Meter counts what comes over a wire. Connections of HTTP carry gRPC too;
// requests of HTTP are all others over them, such as the dashboard's.
type Meter struct {
	Requests    atomic.Int64
	Connections atomic.Int64 // open
	Refused     atomic.Int64 // connections beyond the limit, or beyond their client's share

	places   shares
	took     Latency
	slow     throttle
	failures [kinds]struct {
		n      atomic.Int64
		logged throttle
	}
}

// Meter returns the meter of a wire.
func (s *Core) Meter(w Wire) *Meter { return &s.meters[w] }

// Failed counts an error that goes to a caller, has it logged, and returns
// its kind. about says which request that was; it is called where there is
// a line to write.
func (s *Core) Failed(w Wire, err error, about func() Request) Kind {
	k := KindOf(err)
	s.meters[w].failures[k].n.Add(1)
	s.logFailed(w, k, err, about)
	return k
}

// Failures calls each with how often every kind of error went to callers of
// every wire.
func (s *Core) Failures(each func(wire, kind string, n int64)) {
	for w := range s.meters {
		for k := range s.meters[w].failures {
			each(Wire(w).Name(), Kind(k).Name(), s.meters[w].failures[k].n.Load())
		}
	}
}

// Answered counts n requests that were answered in d each, well or not, and
// logs slow ones. What takes as long as its caller wants, streams and
// watches, is none of them.
func (s *Core) Answered(w Wire, n int64, d time.Duration, about func() Request) {
	s.meters[w].took.Add(n, d)
	s.logSlow(w, d, about)
}

// RequestLatency calls each with how long the requests of every wire took.
func (s *Core) RequestLatency(each func(w Wire, c LatencyCounts)) {
	for w := range s.meters {
		each(Wire(w), s.meters[w].took.Counts())
	}
}

// Clip cuts a caller's words for errors and logs.
func Clip[T string | []byte](s T) string {
	return strings.ToValidUTF8(string(s[:min(len(s), 100)]), "?")
}
