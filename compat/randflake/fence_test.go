package randflake

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

func schemeOf(t testing.TB) *snowfence.Scheme {
	t.Helper()
	secret := must(snowfence.NewSecret(secretOf(t)))
	return must(snowfence.NewScheme(snowfence.Randflake(), secret))
}

// granted is a fence with one grant, which a test sets.
type granted struct {
	snowfence.Fence
	grant    atomic.Pointer[snowfence.Grant]
	released atomic.Bool
}

func grantsOf(t testing.TB, gr *snowfence.Grant) *granted {
	f := &granted{Fence: snowfence.Unguarded(schemeOf(t), 0)}
	f.grant.Store(gr)
	return f
}

var errStore = errors.New("the store is down")

func (f *granted) Grant(_ context.Context, after int64) (snowfence.Grant, error) {
	if gr := f.grant.Load(); gr != nil && gr.Until > after {
		return *gr, nil
	}
	return snowfence.Grant{}, errStore
}

func (f *granted) Held(after int64) (snowfence.Grant, bool) {
	gr, err := f.Grant(context.Background(), after)
	return gr, err == nil
}

func (f *granted) Release(context.Context, snowfence.Grant, int64) error {
	time.Sleep(time.Millisecond) // the store is slow
	f.released.Store(true)
	return nil
}

const tickAtNoon = noon - RANDFLAKE_EPOCH_OFFSET

func TestOverAFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		f := grantsOf(t, &snowfence.Grant{Node: 9, From: tickAtNoon, Until: tickAtNoon + 3})
		g := must(NewOn(f))
		if info := g.GetLeaseInfo(); info != (LeaseInfo{9, noon, noon + 2}) {
			t.Errorf("%+v", info)
		}
		if g.UpdateLease(noon, noon+9) || g.UpdateLease(0, noon) {
			t.Error("a fence's lease is updated")
		}
		for i := range int64(3) {
			if m := generate(t, g); m != (made{noon + i, 9, 0}) {
				t.Errorf("%+v", m)
			}
			time.Sleep(time.Second)
		}
		refuses(t, g, ErrInvalidLease)
		synctest.Wait()
		refuses(t, g, ErrInvalidLease)

		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := g.GenerateContext(ctx)
		if !errors.Is(err, ErrInvalidLease) || !errors.Is(err, context.DeadlineExceeded) ||
			!errors.Is(err, snowfence.ErrFenced) || time.Since(start) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		go func() {
			time.Sleep(5 * time.Second)
			f.grant.Store(&snowfence.Grant{Node: 10, From: tickAtNoon, Until: tickAtNoon + 1000, LastSeq: 99})
		}()
		id, err := g.GenerateContext(t.Context())
		if _, node, _, _ := g.Inspect(id); err != nil || node != 10 {
			t.Errorf("node %d, %v", node, err)
		}
		for range 200 {
			must(g.GenerateContext(t.Context()))
		}
		for err == nil {
			_, err = g.Generate()
		}
		wantErr(t, err, ErrResourceExhausted, "")

		closed := make(chan error)
		go func() { closed <- g.Close() }()
		synctest.Wait()
		if !g.mu.TryLock() {
			t.Fatal("Generate waits for the store, which Close asks")
		}
		g.mu.Unlock()
		refuses(t, g, snowfence.ErrClosed)
		if err := <-closed; err != nil || !f.released.Load() {
			t.Errorf("%v, released: %v", err, f.released.Load())
		}
		wantErr(t, errOf(g.GenerateContext(t.Context())), snowfence.ErrClosed, "")
		if info := g.GetLeaseInfo(); info != (LeaseInfo{}) {
			t.Errorf("%+v", info)
		}
	})
}

// The grant begins where the one before it ended, and the clock is not
// there yet.
func TestClockBehindTheGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		g := must(NewOn(grantsOf(t, &snowfence.Grant{Node: 9, From: tickAtNoon + 5, Until: tickAtNoon + 50})))
		defer g.Close()
		refuses(t, g, ErrConsistencyViolation)
		start := time.Now()
		id, err := g.GenerateContext(t.Context())
		if second, _, _, _ := g.Inspect(id); err != nil || second != noon+5 || time.Since(start) != 5*time.Second {
			t.Errorf("%d, %v, after %v", second-noon, err, time.Since(start))
		}
	})
}

func TestLifetimeOverAFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(RANDFLAKE_MAX_TIMESTAMP, 0)))
		g := must(NewOn(snowfence.Unguarded(schemeOf(t), 9)))
		defer g.Close()
		if m := generate(t, g); m.second != RANDFLAKE_MAX_TIMESTAMP {
			t.Errorf("%+v", m)
		}
		time.Sleep(time.Second)
		refuses(t, g, ErrRandflakeDead)
		wantErr(t, errOf(g.GenerateContext(t.Context())), ErrRandflakeDead, "")
	})
}

// A generator on a bare number waits until the context ends.
func TestContextWithoutAFence(t *testing.T) {
	now := int64(noon - 1)
	g := generator(t, 7, noon, noon+10, &now)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantErr(t, errOf(g.GenerateContext(ctx)), ErrInvalidLease, "")
	now = noon
	for range RANDFLAKE_MAX_SEQUENCE + 1 {
		generate(t, g)
	}
	if _, err := g.GenerateContext(ctx); !errors.Is(err, ErrResourceExhausted) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	noError(t, g.Close())
	wantErr(t, errOf(g.GenerateContext(t.Context())), snowfence.ErrClosed, "")
}

func TestFencesThatDoNotFit(t *testing.T) {
	tests.Fails(t, errOf(NewOn(nil)), "a fence that is nil")
	raw := must(snowfence.NewScheme(snowfence.MustLayout("randflake-raw")))
	tests.Says(t, errOf(NewOn(snowfence.Unguarded(raw, 1))), snowfence.Randflake().String(), "")
	fence := snowfence.Unguarded(schemeOf(t), 1)
	g := must(NewOn(fence))
	defer g.Close()
	wantErr(t, errOf(NewOn(fence)), snowfence.ErrBound, "")
	tests.Fails(t, errOf(NewOn(snowfence.Unguarded(schemeOf(t), -1))), "node -1")
}

// A bare number and a fence would make the same IDs, so the second of them
// is refused. The next one begins above the IDs of the first. A fence that
// gets the number later waits.
func TestBareNumberBesideAFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		bare := func(node int64, more ...any) (*Generator, error) {
			return NewGenerator(node, noon, noon+3600, secretOf(t, more...))
		}
		must := func(g *Generator, err error) *Generator {
			t.Helper()
			noError(t, err)
			return g
		}
		f := grantsOf(t, &snowfence.Grant{Node: 7, From: tickAtNoon, Until: tickAtNoon + 10})
		leased := must(NewOn(f))
		generate(t, leased)
		wantErr(t, errOf(bare(7)), ErrOverlap, "the node of the fence")
		must(bare(7, "another secret"))
		eight := must(bare(8))
		m := generate(t, eight)
		wantErr(t, errOf(NewOn(snowfence.Unguarded(leased.scheme, 8))), ErrOverlap, "")
		f.grant.Store(&snowfence.Grant{Node: 8, From: tickAtNoon, Until: tickAtNoon + 3600})
		time.Sleep(10 * time.Second)
		refuses(t, leased, ErrInvalidLease)
		noError(t, eight.Close())
		if id, err := leased.GenerateContext(t.Context()); err != nil {
			t.Error(err)
		} else if second, node, _, _ := leased.Inspect(id); node != 8 || second <= m.second {
			t.Errorf("node %d at %d", node, second-noon)
		}
	})
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr
