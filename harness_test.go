package snowfence

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
)

// fakeClock is a clock that a test moves.
type fakeClock = tests.Clock

var newFakeClock = tests.NewClock

// stepped is a TimeSource for synctest bubbles: the bubble's time, with a
// wall clock that can be stepped.
type stepped struct {
	start  time.Time
	offset atomic.Int64
}

func newStepped() *stepped { return &stepped{start: time.Now()} }

func (c *stepped) now() (time.Time, time.Duration) {
	now := time.Now()
	return now.Add(time.Duration(c.offset.Load())).Round(0), now.Sub(c.start)
}

func (c *stepped) step(d time.Duration) { c.offset.Add(int64(d)) }

// bubbleSpec is Twitter's division with an epoch before the year 2000, in
// which synctest's clock starts.
const bubbleSpec = "time=41,node=10,seq=12,epoch=1999-01-01"

// script is a fence that gives what the test tells it to, and keeps a
// ledger of it. With nothing to give, Grant waits.
type script struct {
	binding
	scheme *Scheme

	mu       sync.Mutex
	grant    Grant
	err      error
	changed  chan struct{}
	given    []Grant // every grant handed out, a renewal as its last state
	released []released
	seal     func() int64
}

type released struct {
	grant Grant
	used  int64
}

func newScript(s *Scheme, g Grant) *script {
	return &script{scheme: s, grant: g, changed: make(chan struct{})}
}

func (f *script) Scheme() *Scheme { return f.scheme }

func (f *script) Bind(seal func() int64) (func(), error) {
	f.mu.Lock()
	f.seal = seal
	f.mu.Unlock()
	return f.binding.Bind(seal)
}

func (f *script) Grant(ctx context.Context, after int64) (Grant, error) {
	for {
		f.mu.Lock()
		g, err, changed := f.grant, f.err, f.changed
		if err == nil && g.Until > after {
			if n := len(f.given) - 1; n >= 0 && f.given[n].Node == g.Node && f.given[n].From == g.From {
				f.given[n] = g
			} else {
				f.given = append(f.given, g)
			}
		}
		f.mu.Unlock()
		if err != nil || g.Until > after {
			return g, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Grant{}, ctx.Err()
		}
	}
}

func (f *script) Held(after int64) (Grant, bool) { return atHand(f, after) }

// atHand is Held for fences of tests: what they grant to a caller that does
// not wait.
func atHand(f Fence, after int64) (Grant, bool) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	gr, err := f.Grant(ctx, after)
	return gr, err == nil
}

func (f *script) Release(_ context.Context, g Grant, used int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.released = append(f.released, released{g, used})
	return nil
}

// set gives another grant or a renewed one from now on.
func (f *script) set(g Grant, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.grant, f.err = g, err
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *script) grants() []Grant {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.given)
}

func newGenerator(t testing.TB, c Config) *Generator {
	t.Helper()
	g := must(New(c))
	t.Cleanup(func() {
		noError(t, g.Close())
	})
	return g
}

// take returns n IDs from TryNext, and fails the test where there are
// fewer.
func take(t testing.TB, g *Generator, n int) []ID {
	t.Helper()
	ids := make([]ID, 0, n)
	for range n {
		id, err := g.TryNext()
		if err != nil {
			t.Fatalf("ID %d of %d: %v", len(ids)+1, n, err)
		}
		ids = append(ids, id)
	}
	return ids
}

// takeAll returns IDs from TryNext until it refuses, at most limit, and the
// refusal.
func takeAll(t testing.TB, g *Generator, limit int) ([]ID, error) {
	t.Helper()
	var ids []ID
	for len(ids) < limit {
		id, err := g.TryNext()
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	t.Fatalf("no end after %d IDs", limit)
	return nil, nil
}

var (
	checkIncreasing = tests.Increasing[ID]
	checkUnique     = tests.Unique[ID] // sorts them
)

// checkInside fails for an ID whose node, tick or sequence number no grant
// covers.
func checkInside(t testing.TB, s *Scheme, ids []ID, grants []Grant) {
	t.Helper()
	l := s.Layout()
	for _, id := range ids {
		p := must(s.Decode(id))
		ok := slices.ContainsFunc(grants, func(g Grant) bool {
			first, last := g.FirstSeq, g.LastSeq
			if first == 0 && last == 0 {
				first, last = l.First, l.Last
			}
			return p.Node >= g.Node && p.Node < g.Node+max(g.Nodes, 1) && p.Tick >= g.From && p.Tick < g.Until &&
				p.Sequence >= first && p.Sequence <= last
		})
		if !ok {
			t.Fatalf("%d = %+v is outside of all grants %+v", id, p, grants)
		}
	}
}

func isReason(t testing.TB, err, want error) *WaitError {
	t.Helper()
	var w *WaitError
	if !errors.Is(err, want) || !errors.As(err, &w) {
		t.Fatalf("the error is %v, want a WaitError of %v", err, want)
	}
	return w
}

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// fails reports a call without an error.
var fails = tests.Fails

// says reports an error without a text, and a call without an error.
var says = tests.Says
