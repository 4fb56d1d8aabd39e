package server

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Op is one of the calls of a store that take a round trip.
type Op int

// The calls.
const (
	OpGet Op = iota
	OpList
	OpSwap
	OpCount
	ops
)

// Name is the call in words, for metrics.
func (o Op) Name() string { return [...]string{"get", "list", "swap", "count"}[o] }

// StoreLatency counts how long the round trips to a store take that it answers. Safe for
// concurrent use.
type StoreLatency [ops]struct {
	Latency
	failed atomic.Int64
}

func (l *StoreLatency) add(o Op, began time.Time, err error) {
	switch {
	case err == nil:
		l[o].Add(1, time.Since(began))
	case !errors.Is(err, context.Canceled):
		l[o].failed.Add(1) // with them, a connection that is refused would look like a fast store
	}
}

// Counts returns what was counted so far, of all calls together.
func (l *StoreLatency) Counts() (c LatencyCounts) {
	for o := range l {
		c = c.plus(l[o].Counts())
	}
	return c
}

// Each calls f with what was counted of every call, and how many of them ended with an
// error, which are not among the others.
func (l *StoreLatency) Each(f func(o Op, c LatencyCounts, failed int64)) {
	for o := range l {
		f(Op(o), l[o].Counts(), l[o].failed.Load())
	}
}
