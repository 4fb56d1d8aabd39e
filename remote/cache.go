package remote

import (
	"sync"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// identityCache keeps the store's identity from the answer to a swap, so that nobody asks
// for it.
//
// A lease uses what it wrote only after it has compared the store's identity after the
// write with the one before: otherwise it would miss a rollback. So the rule is: a server
// read the identity after it carried out every swap that this Store had answered by then.
// The server reads it after the swap, in the same request. It is good for that swap, and
// for all that were answered before the request was sent. If an answer came while the
// request was under way, that may be of a later swap: then none is kept, and the next
// question is asked.
type identityCache struct {
	mu       sync.Mutex
	answered int64             // swaps
	ids      map[string]string // by namespace
	at       time.Time         // when they came
}

// identityFor bounds how long an identity is kept: those who compare without a write want a
// fresh one.
const identityFor = time.Second

// begin is called before a swap is sent.
func (k *identityCache) begin() (answered int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.answered
}

// learn takes the answer to a swap that began at begun.
func (k *identityCache) learn(begun int64, writes []lease.Write, identities []string) {
	ids := map[string]string{}
	for _, w := range writes {
		name := w.New.Namespace
		if _, ok := ids[name]; !ok && len(ids) < len(identities) {
			ids[name] = identities[len(ids)]
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.answered != begun {
		ids = nil
	}
	k.ids, k.at = ids, time.Now()
	k.answered++
}

// identity returns that of a namespace; false means that the server must be asked.
func (k *identityCache) identity(namespace string) (string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.at) >= identityFor {
		return "", false
	}
	id, ok := k.ids[namespace]
	return id, ok
}

// clock keeps the time of the store, and continues it between questions.
//
// A lease only compares it with its own time, and stops renewing when they are too far
// apart. No grant begins or ends by it. So an error e here moves the limit of that
// comparison by e, and does nothing else. e is at most half the round trip of the question,
// of which only short ones are kept, plus the drift of two clocks in a minute, 30 ms at the
// 500 ppm that time daemons allow: less than a tenth of a second. It cannot see a step of
// the store's own clock for that minute. A step of this machine's clock, or a sleep, shows
// as a difference between wall clock and monotonic time, and then the server is asked.
type clock struct {
	mu     sync.Mutex
	at     time.Time // of this machine, with monotonic time
	wall   time.Time // without
	theirs time.Time // then; zero where the store has no time
	kept   bool      // there is an answer to go by
}

const (
	clockFor  = time.Minute
	clockTrip = 100 * time.Millisecond // the longest round trip of a question that is kept
	clockStep = 20 * time.Millisecond
)

// set takes an answer to a question.
func (c *clock) set(asked, answered, theirs time.Time) {
	trip := answered.Sub(asked)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.theirs, c.kept = asked.Add(trip/2), theirs, trip <= clockTrip
	c.wall = c.at.Round(0)
}

// now returns the time of the store; false means that the server must be asked.
func (c *clock) now(here time.Time) (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := here.Sub(c.at)                   // monotonic
	wall := here.Round(0).Sub(c.wall) - since // how far the wall clock went its own way
	if !c.kept || since < 0 || since > clockFor || wall.Abs() > clockStep {
		return time.Time{}, false
	}
	if c.theirs.IsZero() {
		return c.theirs, true
	}
	return c.theirs.Add(since), true
}
