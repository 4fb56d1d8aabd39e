package store

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// groupLimit bounds the writes or keys of a round trip, so that
	// the first of very many are answered while the last ones wait.
	groupLimit = 1000

	// groupPatience is how long a round trip keeps others waiting. A
	// connection that hangs then costs no more than without a Group.
	groupPatience = time.Second
)

// batcher gathers calls of one kind into round trips. Calls wait in a
// queue, and a goroutine that runs only while there are any takes as many
// as fit. No mutex is held meanwhile.
type batcher[Q, A any] struct {
	// do makes one round trip.
	do func(ctx context.Context, asked []Q) (answers []A, err error)

	// weigh says how much a call adds to a round trip. Calls share one up
	// to groupLimit.
	weigh func(Q) int

	// clash reports whether a call cannot share a round trip that has taken
	// these keys. Otherwise it takes the keys of the call. It is nil where
	// all calls can share one.
	clash func(asked Q, taken map[Key]bool) bool

	mu    sync.Mutex
	queue []*call[Q, A]
	busy  bool // a round trip keeps others waiting
}

// call is the question of one caller, and its answer.
type call[Q, A any] struct {
	asked  Q
	answer A
	err    error
	done   chan struct{} // closed when answer and err are there
	trip   *trip[Q, A]   // nil while it waits
	left   bool
}

// trip is a round trip.
type trip[Q, A any] struct {
	calls   []*call[Q, A]
	waiting int // callers who have not left
	cancel  context.CancelFunc
	slow    bool // no call waits for it, or it has ended
}

// ask waits for the answer to a call, until ctx ends.
func (l *batcher[Q, A]) ask(ctx context.Context, asked Q) (A, error) {
	var none A
	if err := ctx.Err(); err != nil {
		return none, err
	}
	c := &call[Q, A]{asked: asked, done: make(chan struct{})}
	l.mu.Lock()
	l.queue = append(l.queue, c)
	l.start()
	l.mu.Unlock()
	select {
	case <-c.done:
		return c.answer, c.err
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-c.done: // at the last moment: to know is better
		return c.answer, c.err
	default:
	}
	c.left = true
	if t := c.trip; t != nil {
		if t.waiting--; t.waiting == 0 {
			t.cancel()
		}
	}
	return none, fmt.Errorf("lease: waiting for the store, together with others: %w", ctx.Err())
}

// start makes sure that a goroutine works on the queue. mu is held.
func (l *batcher[Q, A]) start() {
	if !l.busy {
		l.busy = true
		go l.run()
	}
}

// run makes round trips until no call waits.
func (l *batcher[Q, A]) run() {
	for {
		ctx, cancel := context.WithCancel(context.Background())
		l.mu.Lock()
		t := l.next()
		if t == nil {
			l.busy = false
			l.mu.Unlock()
			cancel()
			return
		}
		t.cancel = cancel
		l.mu.Unlock()
		patience := time.AfterFunc(groupPatience, func() { l.overtake(t) })
		asked := make([]Q, len(t.calls))
		for i, c := range t.calls {
			asked[i] = c.asked
		}
		answers, err := l.do(ctx, asked)
		patience.Stop()
		for i, c := range t.calls {
			if c.err = err; err == nil {
				c.answer = answers[i]
			}
			close(c.done)
		}
		l.mu.Lock()
		slow := t.slow
		t.slow = true // a timer that fires now finds nothing to do
		l.mu.Unlock()
		cancel()
		if slow {
			return
		}
	}
}

// overtake lets others go when a round trip takes long.
func (l *batcher[Q, A]) overtake(t *trip[Q, A]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !t.slow {
		t.slow, l.busy = true, false
		l.start()
	}
}

// next takes calls out of the queue, in their order, for one round trip;
// nil when there are none. mu is held.
func (l *batcher[Q, A]) next() *trip[Q, A] {
	t := &trip[Q, A]{}
	var later []*call[Q, A]
	taken := map[Key]bool{}
	weight, n := 0, 0
	for _, c := range l.queue {
		if !c.left {
			w := l.weigh(c.asked)
			if len(t.calls) > 0 && weight+w > groupLimit {
				break
			}
			if l.clash != nil && l.clash(c.asked, taken) {
				later = append(later, c)
			} else {
				weight += w
				c.trip = t
				t.calls = append(t.calls, c)
			}
		}
		n++
	}
	l.queue = append(later, l.queue[n:]...)
	t.waiting = len(t.calls)
	if len(t.calls) == 0 {
		return nil
	}
	return t
}
