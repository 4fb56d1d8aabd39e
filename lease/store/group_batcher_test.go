package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// rounds is a batcher whose calls are numbers, each as heavy as it says,
// and whose round trips wait until they are let through, the oldest first.
type rounds struct {
	batcher batcher[int, int]
	open    chan error

	mu    sync.Mutex
	trips []string
	ends  []string // of calls
}

func newRounds() *rounds {
	rs := &rounds{open: make(chan error)}
	rs.batcher.weigh = func(n int) int { return n }
	rs.batcher.do = func(ctx context.Context, asked []int) ([]int, error) {
		if len(asked) == 0 {
			panic("a round trip without a call") // a loop that has no end
		}
		rs.mu.Lock()
		rs.trips = append(rs.trips, fmt.Sprint(asked))
		rs.mu.Unlock()
		select {
		case err := <-rs.open:
			return asked, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return rs
}

// call asks, and returns when nothing moves any more.
func (rs *rounds) call(ctx context.Context, n int) {
	go func() {
		answer, err := rs.batcher.ask(ctx, n)
		rs.mu.Lock()
		defer rs.mu.Unlock()
		rs.ends = append(rs.ends, fmt.Sprint(n, ": ", answer, " ", err))
	}()
	synctest.Wait()
}

// pass lets the oldest round trip through.
func (rs *rounds) pass(err error) {
	rs.open <- err
	synctest.Wait()
}

// expect compares all round trips that have begun, and the ends of calls
// since it was asked last.
func (rs *rounds) expect(t *testing.T, trips, ends string) {
	t.Helper()
	if got := fmt.Sprint(rs.trips); got != trips {
		t.Errorf("round trips %s, not %s", got, trips)
	}
	if got := fmt.Sprint(rs.ends); got != ends {
		t.Errorf("answers %s, not %s", got, ends)
	}
	rs.ends = nil
}

// Calls share a round trip as long as they are no more than a thousand
// writes or keys together. A call of more goes alone.
func TestRoundTripHasALimit(t *testing.T) {
	for want, calls := range map[string][]int{
		"[[7] [600 400]]":           {600, 400},
		"[[7] [600] [401]]":         {600, 401},
		"[[7] [300 300 300] [300]]": {300, 300, 300, 300},
		"[[7] [1] [1001] [2]]":      {1, 1001, 2},
		"[[7] [1000 0 0]]":          {1000, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			rs := newRounds()
			rs.call(t.Context(), 7)
			for _, n := range calls {
				rs.call(t.Context(), n)
			}
			close(rs.open)
			synctest.Wait()
			if got := fmt.Sprint(rs.trips); got != want {
				t.Errorf("round trips %s, not %s", got, want)
			}
			if n := len(rs.ends); n != len(calls)+1 {
				t.Errorf("%d of %d calls ended", n, len(calls)+1)
			}
		})
	}
}

// All calls of a round trip get its error, and no others do.
func TestErrorOfARoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rs := newRounds()
		rs.call(t.Context(), 1)
		rs.call(t.Context(), 2)
		rs.pass(nil)
		rs.expect(t, "[[1] [2]]", "[1: 1 <nil>]")
		rs.call(t.Context(), 3)
		rs.pass(errNoAnswer)
		rs.expect(t, "[[1] [2] [3]]", "[2: 0 no answer]")
		rs.pass(nil)
		rs.expect(t, "[[1] [2] [3]]", "[3: 3 <nil>]")
		rs.call(t.Context(), 4) // no goroutine worked on the queue any more
		rs.pass(nil)
		rs.expect(t, "[[1] [2] [3] [4]]", "[4: 4 <nil>]")
	})
}

// A call whose context has ended waits for nothing, and nothing is done for
// it.
func TestCallThatHasEnded(t *testing.T) {
	rs := newRounds()
	rs.batcher.busy = true
	if _, err := rs.batcher.ask(over(t), 1); !errors.Is(err, context.Canceled) || len(rs.batcher.queue) != 0 {
		t.Errorf("%v, and %d calls wait", err, len(rs.batcher.queue))
	}
}

// A round trip is cancelled when the last of its callers has left, not
// before. Who left before it began is not part of it.
func TestRoundTripWithoutCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rs := newRounds()
		rs.call(t.Context(), 1)
		var leave [3]context.CancelFunc
		for i := range leave {
			var ctx context.Context
			ctx, leave[i] = context.WithCancel(t.Context())
			rs.call(ctx, 2+i)
		}
		out := func(i int) {
			leave[i]()
			synctest.Wait()
		}
		out(0)
		rs.pass(nil)
		rs.expect(t, "[[1] [3 4]]",
			"[2: 0 lease: waiting for the store, together with others: context canceled 1: 1 <nil>]")
		out(1)
		rs.expect(t, "[[1] [3 4]]", "[3: 0 lease: waiting for the store, together with others: context canceled]")
		rs.call(t.Context(), 5) // waits: the round trip is still under way
		rs.expect(t, "[[1] [3 4]]", "[]")
		out(2)
		rs.expect(t, "[[1] [3 4] [5]]", "[4: 0 lease: waiting for the store, together with others: context canceled]")
		rs.pass(nil)
		rs.expect(t, "[[1] [3 4] [5]]", "[5: 5 <nil>]")
	})
}

// A round trip of more than a second no longer keeps others waiting. When
// it ends at last, there is still one at a time.
func TestSlowRoundTripIsOvertakenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rs := newRounds()
		rs.call(t.Context(), 1)
		rs.call(t.Context(), 2)
		time.Sleep(groupPatience + 1)
		synctest.Wait()
		rs.expect(t, "[[1] [2]]", "[]")
		rs.call(t.Context(), 3)
		rs.pass(nil)
		rs.expect(t, "[[1] [2]]", "[1: 1 <nil>]")
		rs.pass(nil)
		rs.expect(t, "[[1] [2] [3]]", "[2: 2 <nil>]")
		time.Sleep(groupPatience + 1) // no call waits to overtake
		synctest.Wait()
		rs.call(t.Context(), 4)
		rs.expect(t, "[[1] [2] [3] [4]]", "[]")
		rs.call(t.Context(), 5)
		rs.pass(nil)
		rs.pass(nil)
		rs.pass(nil)
		rs.expect(t, "[[1] [2] [3] [4] [5]]", "[3: 3 <nil> 4: 4 <nil> 5: 5 <nil>]")
	})
}

// over is a context that has ended.
func over(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
