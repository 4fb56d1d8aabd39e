package server

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// latencyBuckets are quarters of octaves from a quarter of a microsecond to
// 67 s, and all longer times.
const (
	latencyBuckets = 28*4 + 1
	latencyUnit    = time.Microsecond / 4
)

// Latency counts how long things take. Safe for concurrent use.
type Latency struct {
	buckets [latencyBuckets]atomic.Int64
	nanos   atomic.Int64
}

// LatencyCounts are the counts of a Latency at one time, or of the time
// between two.
type LatencyCounts struct {
	Buckets [latencyBuckets]int64
	Total   time.Duration // of all together
}

// Add counts n things that took d each.
func (l *Latency) Add(n int64, d time.Duration) {
	l.buckets[latencyBucket(d)].Add(n)
	l.nanos.Add(n * int64(d))
}

// latencyBucket returns the bucket of a duration: its octave, and which
// quarter of it.
func latencyBucket(d time.Duration) int {
	quarters := uint64(min(max(d, 0), time.Hour)) * 4 / uint64(latencyUnit)
	if quarters < 4 {
		return 0
	}
	octave := bits.Len64(quarters) - 3
	quarter := int(quarters >> octave & 3)
	return min(octave*4+quarter, latencyBuckets-1)
}

// LatencyEdge returns the upper end of a bucket; the last one has none.
func LatencyEdge(bucket int) time.Duration {
	if bucket >= latencyBuckets-1 {
		return math.MaxInt64
	}
	return latencyUnit << (bucket / 4) * time.Duration(bucket%4+5) / 4
}

// Counts returns the counts so far.
func (l *Latency) Counts() (c LatencyCounts) {
	for i := range l.buckets {
		c.Buckets[i] = l.buckets[i].Load()
	}
	c.Total = time.Duration(l.nanos.Load())
	return c
}

func (c LatencyCounts) plus(o LatencyCounts) LatencyCounts {
	for i := range c.Buckets {
		c.Buckets[i] += o.Buckets[i]
	}
	c.Total += o.Total
	return c
}

// Since returns the counts after an earlier look.
func (c LatencyCounts) Since(earlier LatencyCounts) LatencyCounts {
	for i := range c.Buckets {
		c.Buckets[i] -= earlier.Buckets[i]
	}
	c.Total -= earlier.Total
	return c
}

// N returns how many were counted.
func (c LatencyCounts) N() (n int64) {
	for _, b := range c.Buckets {
		n += b
	}
	return n
}

// Quantile returns a time within which the part q of all ended, at most a
// quarter too long; 0 when there were none.
func (c LatencyCounts) Quantile(q float64) time.Duration {
	want := int64(math.Ceil(q * float64(c.N())))
	for i, b := range c.Buckets {
		if want -= b; want <= 0 && b > 0 {
			return min(LatencyEdge(i), 67*time.Second)
		}
	}
	return 0
}

// Op is one of the calls of a store that take a round trip.
type Op int

// The calls.
const (
	OpGet Op = iota
	OpList
	OpSwap
	OpHeads
	OpAdd
	ops
)

// Name is the call in words, for metrics.
func (o Op) Name() string { return [...]string{"get", "list", "swap", "heads", "add"}[o] }

// StoreLatency counts how long the round trips to a store take that it
// answers. Safe for concurrent use.
type StoreLatency struct {
	ops [ops]struct {
		Latency
		failed atomic.Int64
	}
	outage outage

	mu    sync.Mutex
	under map[*time.Time]struct{} // when those began that are under way
}

// beginTrip notes a round trip that is under way, until end is called.
func (l *StoreLatency) beginTrip(at time.Time) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.under == nil {
		l.under = map[*time.Time]struct{}{}
	}
	l.under[&at] = struct{}{}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.under, &at)
	}
}

// Oldest returns how long the oldest round trip has had no answer; 0 when
// none is under way.
func (l *StoreLatency) Oldest(now time.Time) (age time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at := range l.under {
		age = max(age, now.Sub(*at))
	}
	return age
}

func (l *StoreLatency) addTrip(o Op, began time.Time, err error) {
	switch {
	case err == nil:
		now := time.Now()
		l.ops[o].Add(1, now.Sub(began))
		l.outage.noteAnswer(now)
	case errors.Is(err, context.Canceled): // the caller has gone
	default:
		l.ops[o].failed.Add(1) // with them, a connection that is refused would look like a fast store
		if KindOf(err) == Unavailable {
			l.outage.noteFailure(began, err)
		} else {
			l.outage.noteAnswer(time.Now())
		}
	}
}

// Outage returns the start of the store's silence, and the last error of
// the store or its driver; nil while it answers. One failed round trip is
// no outage: its caller may have had no time.
func (l *StoreLatency) Outage() (since time.Time, err error) { return l.outage.now() }

// Counts returns the counts of all calls together.
func (l *StoreLatency) Counts() (c LatencyCounts) {
	for o := range l.ops {
		c = c.plus(l.ops[o].Counts())
	}
	return c
}

// Each calls f with the counts of every call, and the number of failures,
// which are not among the others.
func (l *StoreLatency) Each(f func(o Op, c LatencyCounts, failed int64)) {
	for o := range l.ops {
		f(Op(o), l.ops[o].Counts(), l.ops[o].failed.Load())
	}
}
