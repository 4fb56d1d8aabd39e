package server

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/lease"
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

// StoreLatency counts how long the round trips to a store take that it answers. Safe for concurrent use.
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

// Each calls f with what was counted of every call, and how many of them ended with an error, which are not among the others.
func (l *StoreLatency) Each(f func(o Op, c LatencyCounts, failed int64)) {
	for o := range l {
		f(Op(o), l[o].Counts(), l[o].failed.Load())
	}
}

// Measure returns a store whose round trips are counted. It goes below lease.Group, so that what is shared is counted once.
func Measure(st lease.Store) (lease.Store, *StoreLatency) {
	m := &measured{Store: st, latency: new(StoreLatency)}
	return m, m.latency
}

// measured counts the round trips of a store.
type measured struct {
	lease.Store
	latency *StoreLatency
}

// Get implements [lease.Store].
func (m *measured) Get(ctx context.Context, keys []lease.Key) (rs []lease.Record, err error) {
	defer func(began time.Time) { m.latency.add(OpGet, began, err) }(time.Now())
	return m.Store.Get(ctx, keys)
}

// List implements [lease.Store].
func (m *measured) List(ctx context.Context, q lease.Query) (rs []lease.Record, err error) {
	defer func(began time.Time) { m.latency.add(OpList, began, err) }(time.Now())
	return m.Store.List(ctx, q)
}

// Swap implements [lease.Store]. A swap that was lost is an answer, no failure.
func (m *measured) Swap(ctx context.Context, writes []lease.Write) []error {
	began := time.Now()
	errs := m.Store.Swap(ctx, writes)
	var failed error
	for _, err := range errs {
		if err != nil && !errors.Is(err, lease.ErrLost) {
			failed = err
		}
	}
	m.latency.add(OpSwap, began, failed)
	return errs
}

// Count implements [lease.Store].
func (m *measured) Count(ctx context.Context, namespace string, first, last int64) (n int64, err error) {
	defer func(began time.Time) { m.latency.add(OpCount, began, err) }(time.Now())
	return m.Store.Count(ctx, namespace, first, last)
}
