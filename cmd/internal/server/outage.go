package server

import (
	"sync"
	"sync/atomic"
	"time"
)

// outage is a time in which a store does not answer. Safe for concurrent
// use.
type outage struct {
	last    atomic.Int64 // when the store answered last, in Unix nanoseconds; 0 is never
	failing atomic.Bool

	mu    sync.Mutex // guards what follows
	since time.Time
	n     int // round trips that failed, one after the other
	err   error
}

// noteAnswer notes an answer. It is on the path of every round trip, and so
// takes no lock while all is well.
func (o *outage) noteAnswer(now time.Time) {
	o.last.Store(now.UnixNano())
	if !o.failing.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failing.Store(false)
	o.since, o.n, o.err = time.Time{}, 0, nil
}

// noteFailure notes a round trip that began at a time and had no answer. An
// outage begins with the first of these, but not before the last answer.
func (o *outage) noteFailure(began time.Time, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n == 0 {
		o.since = began
		if last := time.Unix(0, o.last.Load()); last.After(began) {
			o.since = last
		}
	}
	o.n++
	o.err = err
	o.failing.Store(true)
}

// now returns since when there is an outage, and the last error; nil
// without one.
func (o *outage) now() (time.Time, error) {
	if !o.failing.Load() {
		return time.Time{}, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n < 2 {
		return time.Time{}, nil
	}
	return o.since, o.err
}
