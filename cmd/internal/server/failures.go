package server

import "sync/atomic"

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

// Failed counts an error that goes to a caller and returns its kind.
func (s *Service) Failed(w Wire, err error) Kind {
	k := KindOf(err)
	s.failures[w][k].Add(1)
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
