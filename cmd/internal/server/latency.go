package server

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// latencyBuckets are quarters of octaves from 1 µs to 67 s, and what is longer.
const latencyBuckets = 26*4 + 1

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

// Latency counts how long the round trips to a store take that it answers. Safe for concurrent use.
type Latency struct{ ops [ops]spread }

// spread counts the round trips of one call.
type spread struct {
	buckets [latencyBuckets]atomic.Int64
	nanos   atomic.Int64
	failed  atomic.Int64
}

// LatencyCounts are the counts of a Latency at one time, or of the time between two.
type LatencyCounts struct {
	Buckets [latencyBuckets]int64
	Total   time.Duration // of all round trips together
	Failed  int64         // those that ended with an error, which are not among the others
}

func (l *Latency) add(o Op, began time.Time, err error) {
	s := &l.ops[o]
	switch {
	case err == nil:
		d := time.Since(began)
		s.buckets[latencyBucket(d)].Add(1)
		s.nanos.Add(int64(d))
	case !errors.Is(err, context.Canceled):
		s.failed.Add(1) // with them, a connection that is refused would look like a fast store
	}
}

// latencyBucket returns the bucket of a duration: the octave of its microseconds, and which quarter of it.
func latencyBucket(d time.Duration) int {
	us := uint64(max(d, 0) / time.Microsecond)
	if us == 0 {
		return 0
	}
	octave := bits.Len64(us) - 1
	quarter := int(us << 2 >> octave & 3)
	return min(octave*4+quarter, latencyBuckets-1)
}

// LatencyEdge returns the upper end of a bucket; that of the last one has none.
func LatencyEdge(bucket int) time.Duration {
	if bucket >= latencyBuckets-1 {
		return math.MaxInt64
	}
	return time.Duration(float64(uint64(1)<<(bucket/4))*(1+float64(bucket%4+1)/4)*1000) * time.Nanosecond
}

// Counts returns what was counted so far.
func (l *Latency) Counts() (c LatencyCounts) {
	l.Each(func(_ Op, one LatencyCounts) {
		for i, n := range one.Buckets {
			c.Buckets[i] += n
		}
		c.Total += one.Total
		c.Failed += one.Failed
	})
	return c
}

// Each calls f with what was counted of every call.
func (l *Latency) Each(f func(Op, LatencyCounts)) {
	for o := range l.ops {
		s, c := &l.ops[o], LatencyCounts{}
		for i := range s.buckets {
			c.Buckets[i] = s.buckets[i].Load()
		}
		c.Total, c.Failed = time.Duration(s.nanos.Load()), s.failed.Load()
		f(Op(o), c)
	}
}

// Since returns what was counted after an earlier look.
func (c LatencyCounts) Since(earlier LatencyCounts) LatencyCounts {
	for i := range c.Buckets {
		c.Buckets[i] -= earlier.Buckets[i]
	}
	c.Total -= earlier.Total
	c.Failed -= earlier.Failed
	return c
}

// N returns how many round trips were counted.
func (c LatencyCounts) N() (n int64) {
	for _, b := range c.Buckets {
		n += b
	}
	return n
}

// Quantile returns a time within which the part q of all round trips ended, at most a quarter too long; 0 when there were none.
func (c LatencyCounts) Quantile(q float64) time.Duration {
	want := int64(math.Ceil(q * float64(c.N())))
	for i, b := range c.Buckets {
		if want -= b; want <= 0 && b > 0 {
			return min(LatencyEdge(i), 67*time.Second)
		}
	}
	return 0
}

// Measure returns a store whose round trips are counted. It goes below lease.Group, so that what is shared is counted once.
func Measure(st lease.Store) (lease.Store, *Latency) {
	m := &measured{Store: st, latency: new(Latency)}
	if c, ok := st.(lease.Counter); ok {
		return &countingMeasured{m, c}, m.latency
	}
	return m, m.latency
}

// measured hands everything through. A store without an identity or a time has the empty one, which means the same; what it cannot count it must not seem to.
type measured struct {
	lease.Store
	latency *Latency
}

type countingMeasured struct {
	*measured
	counter lease.Counter
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

// Identity implements [lease.Identifier].
func (m *measured) Identity(ctx context.Context) (string, error) {
	if i, ok := m.Store.(lease.Identifier); ok {
		return i.Identity(ctx)
	}
	return "", nil
}

// NamespaceIdentity implements [lease.NamespaceIdentifier].
func (m *measured) NamespaceIdentity(ctx context.Context, namespace string) (string, error) {
	if i, ok := m.Store.(lease.NamespaceIdentifier); ok {
		return i.NamespaceIdentity(ctx, namespace)
	}
	return m.Identity(ctx)
}

// Now implements [lease.Clock].
func (m *measured) Now(ctx context.Context) (time.Time, error) {
	if c, ok := m.Store.(lease.Clock); ok {
		return c.Now(ctx)
	}
	return time.Time{}, nil
}

// Pin implements [lease.Pinner].
func (m *measured) Pin(ctx context.Context) (unpin func(), err error) {
	if p, ok := m.Store.(lease.Pinner); ok {
		return p.Pin(ctx)
	}
	return func() {}, nil
}

// Count implements [lease.Counter].
func (m *countingMeasured) Count(ctx context.Context, namespace string, first, last int64) (n int64, err error) {
	defer func(began time.Time) { m.latency.add(OpCount, began, err) }(time.Now())
	return m.counter.Count(ctx, namespace, first, last)
}
