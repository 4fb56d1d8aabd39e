package server

import (
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

// failures counts errors by wire and kind.
type failures [wires][kinds]atomic.Int64

// Failed counts an error that goes to a caller, has it logged, and returns its kind. about says which request that was; it is called where there is a line to write.
func (s *Service) Failed(w Wire, err error, about func() Request) Kind {
	k := KindOf(err)
	s.failures[w][k].Add(1)
	s.logFailed(w, k, err, about)
	return k
}

// Failures calls each with how often every kind of error went to callers of every wire.
func (s *Service) Failures(each func(wire, kind string, n int64)) {
	for w := range s.failures {
		for k := range s.failures[w] {
			each(Wire(w).Name(), Kind(k).Name(), s.failures[w][k].Load())
		}
	}
}

// Took counts n requests that were answered in d each, well or not. What takes as long as its caller wants, streams and watches, is none of them.
func (s *Service) Took(w Wire, n int64, d time.Duration) { s.took[w].Add(n, d) }

// RequestLatency calls each with how long the requests of every wire took.
func (s *Service) RequestLatency(each func(w Wire, c LatencyCounts)) {
	for w := range s.took {
		each(Wire(w), s.took[w].Counts())
	}
}
