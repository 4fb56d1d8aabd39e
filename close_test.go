package snowfence

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// deaf is a fence that answers a question when it likes, and counts what is given back.
type deaf struct {
	binding
	scheme   *Scheme
	ask      chan Grant // nil: at once
	first    Grant
	released []int64 // used
	fail     error   // of Release
}

func (f *deaf) Scheme() *Scheme { return f.scheme }

func (f *deaf) Grant(ctx context.Context, after int64) (Grant, error) {
	if f.first.Until > after {
		return f.first, nil
	}
	if err := ctx.Err(); err != nil {
		return Grant{}, err
	}
	return <-f.ask, nil
}

func (f *deaf) Held(after int64) (Grant, bool) { return atHand(f, after) }

func (f *deaf) Release(_ context.Context, _ Grant, used int64) error {
	f.released = append(f.released, used)
	return f.fail
}

// Nothing is given back while the fence is being asked: its answer could be put to use,
// or be for another generator. But IDs end at once, and Close does not wait for ever.
func TestCloseWhileTheFenceIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(t, bubbleSpec)
		now := s.Layout().TickOf(time.Now())
		f := &deaf{scheme: s, ask: make(chan Grant), first: Grant{Node: 1, From: now, Until: now + 10}}
		g, err := New(Config{Fence: f, MaxWait: -1})
		if err != nil {
			t.Fatal(err)
		}
		ids := take(t, g, 1)
		time.Sleep(20 * time.Millisecond)
		if _, err := g.TryNext(); !errors.Is(err, ErrFenced) { // asks
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		err = g.Close()
		if err == nil || !strings.Contains(err.Error(), "node 1 stays taken until") || time.Since(start) != closeWait {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if again := g.Close(); again != err || time.Since(start) != closeWait {
			t.Errorf("a second Close: %v after %v", again, time.Since(start))
		}
		if len(f.released) > 0 {
			t.Errorf("released at %v while a question was under way", f.released)
		}
		if _, err := New(Config{Fence: f}); !errors.Is(err, ErrBound) {
			t.Errorf("another generator on a fence that is being asked: %v", err)
		}
		f.ask <- Grant{Node: 1, From: now, Until: now + 1000}
		synctest.Wait()
		if id, err := g.TryNext(); !errors.Is(err, ErrClosed) {
			t.Errorf("after the answer: %v, %v", id, err)
		}
		p, _ := s.Decode(ids[0])
		if err := g.Shutdown(t.Context()); err != nil || len(f.released) != 1 || f.released[0] != p.Tick+1 {
			t.Errorf("Shutdown after the answer: %v, released at %v", err, f.released)
		}
		if err := g.Shutdown(t.Context()); err != nil || len(f.released) != 1 {
			t.Errorf("once more: %v, released at %v", err, f.released)
		}
		if again := g.Close(); again != err {
			t.Errorf("Close says %v now", again)
		}
	})
}

// Several calls at once give back one after the other, and one of them is enough.
func TestCloseByMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(t, bubbleSpec)
		f := &deaf{scheme: s, first: Grant{Node: 1, Until: s.MaxTick()}}
		g := newGenerator(t, Config{Fence: f})
		errs := make(chan error)
		for i := range 8 {
			go func() {
				if i%2 == 0 {
					errs <- g.Close()
				} else {
					errs <- g.Shutdown(t.Context())
				}
			}()
		}
		for range 8 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if len(f.released) != 1 {
			t.Errorf("released at %v", f.released)
		}
	})
}

// After a Close that failed, the fence may serve another generator: then the first one
// gives nothing back any more.
func TestShutdownAfterTheFenceWentOn(t *testing.T) {
	s := testScheme(t, "twitter")
	away := errors.New("away")
	f := &deaf{scheme: s, first: Grant{Node: 1, Until: s.MaxTick()}, fail: away}
	first, err := New(Config{Fence: f})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); !errors.Is(err, away) {
		t.Fatal(err)
	}
	second := newGenerator(t, Config{Fence: f})
	f.fail = nil
	if err := first.Shutdown(t.Context()); err != nil || len(f.released) != 1 {
		t.Errorf("%v, released at %v", err, f.released)
	}
	if err := second.Close(); err != nil || len(f.released) != 2 {
		t.Errorf("%v, released at %v", err, f.released)
	}
}

// stuck is a fence that takes its time with a release, and may refuse to be bound again.
type stuck struct {
	deaf
	release chan struct{}
	refuse  error
}

func (f *stuck) Bind(seal func() int64) (func(), error) {
	if f.refuse != nil {
		return nil, f.refuse
	}
	return f.deaf.Bind(seal)
}

func (f *stuck) Release(ctx context.Context, gr Grant, used int64) error {
	<-f.release
	return f.deaf.Release(ctx, gr, used)
}

// A second Shutdown waits for the first one's turn to end, and no longer than its own ctx.
func TestShutdownWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(t, bubbleSpec)
		f := &stuck{deaf: deaf{scheme: s, first: Grant{Node: 1, Until: s.MaxTick()}}, release: make(chan struct{})}
		g, err := New(Config{Fence: f})
		if err != nil {
			t.Fatal(err)
		}
		results := make(chan error, 2)
		for range 2 {
			go func() { results <- g.Shutdown(t.Context()) }()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), "node 1 stays taken until") {
			t.Errorf("a call without time left: %v", err)
		}
		close(f.release)
		for range 2 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if len(f.released) != 1 {
			t.Errorf("released at %v", f.released)
		}
	})
}

// A fence that cannot be bound again gets nothing back, and the error says why.
func TestShutdownWhereTheFenceCannotBeBound(t *testing.T) {
	s := testScheme(t, "twitter")
	away := errors.New("away")
	f := &stuck{
		deaf:    deaf{scheme: s, first: Grant{Node: 1, Until: s.MaxTick()}, fail: away},
		release: make(chan struct{}),
	}
	close(f.release)
	g := must(New(Config{Fence: f}))
	if err := g.Close(); !errors.Is(err, away) {
		t.Fatal(err)
	}
	f.fail, f.refuse = nil, errors.New("not now")
	if err := g.Shutdown(t.Context()); !errors.Is(err, f.refuse) || len(f.released) != 1 {
		t.Errorf("%v, released at %v", err, f.released)
	}
	f.refuse = nil
	if err := g.Shutdown(t.Context()); err != nil || len(f.released) != 2 {
		t.Errorf("%v, released at %v", err, f.released)
	}
}
