package lease_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// stuck is a store that answers no call while it is stuck, not even
// when their ctx ends. It carries out a write of that time afterwards.
type stuck struct {
	store.Store
	mu sync.RWMutex
	on chan struct{} // closed when it answers again; nil while it does
}

func (s *stuck) hang() (free func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	on := make(chan struct{})
	s.on = on
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.on = nil
		s.mu.Unlock()
		close(on)
	})
}

func (s *stuck) wait() {
	s.mu.RLock()
	on := s.on
	s.mu.RUnlock()
	if on != nil {
		<-on
	}
}

func (s *stuck) Get(_ context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	s.wait()
	return s.Store.Get(context.Background(), keys)
}

func (s *stuck) Swap(_ context.Context, writes []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	s.wait()
	return s.Store.Swap(context.Background(), writes)
}

// vacant checks that the only node of a store has no holder and is free
// from the tick after the last ID on.
func vacant(t *testing.T, st store.Store, s *snowfence.Scheme, last snowfence.ID) {
	t.Helper()
	p := must(s.Decode(last))
	if r := records(t, st)[0]; r.Holder != "" || r.Until != p.Tick+1 {
		t.Errorf("the record is %+v, and the last tick was %d", r, p.Tick)
	}
}

func next(t *testing.T, g *snowfence.Generator) snowfence.ID {
	t.Helper()
	return must(g.Next(t.Context()))
}

// The pattern of the README: the deferred Close runs after the ctx of
// signal.NotifyContext has ended.
func TestCloseGivesBackAfterASignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := store.NewMemory(), thousand(t)
		ctx, stop := context.WithCancel(t.Context())
		g := must(generator(ctx, st, "default", s, snowfence.Config{}, &lease.Options{Create: true}))
		id := next(t, g)
		stop()
		noError(t, g.Close())
		vacant(t, st, s, id)
		wantErr(t, errors.Join(g.Close(), g.Shutdown(ctx)), nil, "again")
		synctest.Wait() // the keeper of the lease has ended: or the bubble would not
	})
}

// Whatever the store does, IDs end at once. Close returns in five seconds
// or when the grant has run out.
func TestCloseOfAStoreThatHangs(t *testing.T) {
	for _, c := range []struct {
		name    string
		ttl     time.Duration
		longest time.Duration
		close   func(*snowfence.Generator, *lease.Lease) error
		again   func(*snowfence.Generator, *lease.Lease) error
	}{
		{"lease, long", ttl, 5 * time.Second, closeLease, shutLease},
		{"lease, short", 2 * time.Second, 2 * time.Second, closeLease, shutLease},
		{"generator, long", ttl, 5 * time.Second, closeGenerator, shutGenerator},
		{"generator, short", 2 * time.Second, 2 * time.Second, closeGenerator, shutGenerator},
	} {
		for _, busy := range []bool{false, true} { // a renewal is under way
			t.Run(c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					st, s := &stuck{Store: store.NewMemory()}, thousand(t)
					l := open(t, st, s, lease.Options{TTL: c.ttl})
					g := must(snowfence.New(snowfence.Config{Fence: l, MaxWait: -1}))
					id := next(t, g)
					free := st.hang()
					if busy {
						time.Sleep(c.ttl / 2)
						id = next(t, g)
					}
					until := s.Layout().TimeOf(l.Status().Grant.Until)
					start := time.Now()
					closed := make(chan error)
					go func() { closed <- c.close(g, l) }()
					synctest.Wait()
					if id, err := g.TryNext(); err == nil || time.Since(start) > 0 {
						t.Errorf("an ID after Close: %v, %v", id, err)
					}
					var first error
					select {
					case first = <-closed:
					case <-time.After(c.longest + time.Millisecond):
						t.Fatal("Close does not return")
					}
					if told := toldUntil(t, first); told.Before(until) || !busy && !told.Equal(until) {
						t.Errorf("%v\nthe grant ends at %v", first, until)
					}
					took := time.Since(start)
					if err := c.close(g, l); !errors.Is(err, first) || time.Since(start) > took {
						t.Errorf("the second Close: %v", err)
					}
					free()
					synctest.Wait()
					if l.Err() != nil {
						if gr, err := l.Grant(t.Context(), 0); err == nil {
							t.Errorf("the renewal that was under way is handed out: %+v", gr)
						}
					}
					wantErr(t, c.again(g, l), nil, "Shutdown when the store answers again")
					if c.ttl == ttl {
						vacant(t, st, s, id)
					}
					if err := l.Close(); c.again(g, l) != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// toldUntil returns the time until which the error of a Close says that the
// node stays taken.
func toldUntil(t *testing.T, err error) time.Time {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	_, text, _ := strings.Cut(err.Error(), "stays taken until ")
	text, _, _ = strings.Cut(text, "Z: ")
	until, perr := time.Parse(time.RFC3339Nano, text+"Z")
	if perr != nil {
		t.Fatalf("%v: %v", err, perr)
	}
	return until
}

func closeLease(_ *snowfence.Generator, l *lease.Lease) error     { return l.Close() }
func closeGenerator(g *snowfence.Generator, _ *lease.Lease) error { return g.Close() }
func shutLease(_ *snowfence.Generator, l *lease.Lease) error      { return l.Shutdown(context.Background()) }

func shutGenerator(g *snowfence.Generator, _ *lease.Lease) error {
	return g.Shutdown(context.Background())
}

// lossy is a store that carries out a swap and loses the answer, when it is
// told to.
type lossy struct {
	store.Store
	lose, away, blind bool // after that neither writes nor reads are answered
}

func (o *lossy) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	if o.blind {
		return nil, store.Reply{}, errAway
	}
	return o.Store.Get(ctx, keys)
}

func (o *lossy) Swap(ctx context.Context, writes []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	if !o.lose && !o.away {
		return o.Store.Swap(ctx, writes)
	}
	if o.lose {
		o.Store.Swap(ctx, writes)
		o.lose, o.away, o.blind = false, true, true
	}
	return slices.Repeat([]error{errAway}, len(writes)), nil, store.Reply{}
}

// A node whose acquisition was never acknowledged is given back too, and
// again after a failure.
func TestShutdownOfAnAcquisitionWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := &lossy{Store: store.NewMemory()}, thousand(t)
		node := int64(7)
		l := open(t, st, s, lease.Options{Node: &node})
		g := must(snowfence.New(snowfence.Config{Fence: l}))
		noError(t, g.Close())
		st.lose = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if g, err := l.Grant(ctx, 0); err == nil {
			t.Fatalf("granted without an answer: %+v", g)
		}
		st.blind = false // or it would be found that the acquisition was written
		for _, end := range []func() error{l.Close, func() error { return l.Shutdown(t.Context()) }} {
			if err := end(); !errors.Is(err, errAway) || records(t, st)[0].Holder == "" {
				t.Fatalf("%v, %+v", err, records(t, st)[0])
			}
		}
		st.away = false
		noError(t, l.Shutdown(t.Context()))
		if r := records(t, st)[0]; r.Holder != "" {
			t.Errorf("still held: %+v", r)
		}
	})
}

// A grant that was taken without a generator may be used up. It
// is not given back as free, whatever the earlier generator did.
func TestCloseKnowsWhatItDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := store.NewMemory(), thousand(t)
		l := open(t, st, s, lease.Options{})
		g := must(snowfence.New(snowfence.Config{Fence: l}))
		next(t, g)
		noError(t, g.Close())
		gr := must(l.Grant(t.Context(), s.Layout().TickOf(time.Now())))
		noError(t, l.Close())
		for _, r := range records(t, st) {
			if r.Node == gr.Node && (r.Holder != "" || r.Until < gr.Until) {
				t.Errorf("%+v was granted, and the record is %+v", gr, r)
			}
		}
	})
}

// A generator that was closed while the store hung leaves no used tick
// to the next one, even if the renewal under way succeeds afterwards.
func TestRenewalAfterAFailedClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := &stuck{Store: store.NewMemory()}, newScheme(t, "time=41,node=10,seq=2,epoch=1999-01-01,tick=1ms")
		node := int64(7)
		l := open(t, st, s, lease.Options{Node: &node})
		defer l.Close()
		g := must(snowfence.New(snowfence.Config{Fence: l, Lead: 10_000}))
		free := st.hang()
		time.Sleep(ttl / 2)                 // a renewal is under way
		ids := make([]snowfence.ID, 7000*4) // ahead of the clock, also when Close has given up
		n := must(g.Fill(t.Context(), ids))
		if g.Close() == nil {
			t.Fatal("closed while the store hangs")
		}
		free()
		synctest.Wait()
		after := must(snowfence.New(snowfence.Config{Fence: l, Lead: 10_000, MaxWait: time.Minute}))
		defer after.Close()
		if id := next(t, after); id <= ids[n-1] {
			t.Errorf("%d after %d", id, ids[n-1])
		}
	})
}

// An acquisition that was being prepared when the lease was closed does not
// come in later.
func TestNoAcquisitionAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := &stuck{Store: store.NewMemory()}, thousand(t)
		node := int64(7)
		l := open(t, st, s, lease.Options{Node: &node})
		g := l.Status().Grant
		noError(t, l.Release(t.Context(), g, g.From))
		free := st.hang()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if g, err := l.Grant(ctx, 0); err == nil {
			t.Fatalf("granted by a store that hangs: %+v", g)
		}
		wantErr(t, l.Close(), nil, "nothing was held")
		free()
		<-l.Done()
		for _, r := range records(t, st) {
			if r.Holder != "" {
				t.Errorf("acquired after Close: %+v", r)
			}
		}
	})
}

// keptOpen is a store that lets go of what it keeps open when it is told
// to.
type keptOpen struct {
	store.Store
	free chan struct{}
}

func (p *keptOpen) Pin(context.Context) (func(), error) { return func() { <-p.free }, nil }

// countedPins is a store that counts its pins.
type countedPins struct {
	store.Store
	n atomic.Int64
}

func (c *countedPins) Pin(context.Context) (func(), error) {
	c.n.Add(1)
	return func() { c.n.Add(-1) }, nil
}

// A lease let go of the store twice, and so for another one, too.
func TestLeaseUnpinsOnce(t *testing.T) {
	st := &countedPins{Store: store.NewMemory()}
	one, _ := open(t, st, thousand(t), lease.Options{}), open(t, st, thousand(t), lease.Options{})
	noError(t, one.Close())
	<-one.Done()
	if n := st.n.Load(); n != 1 {
		t.Errorf("%d pins of one lease", n)
	}
}

// A closed lease does not use the store any more: the program may close it.
func TestCloseLetsGoOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &keptOpen{store.NewMemory(), make(chan struct{})}
		l := open(t, st, thousand(t), lease.Options{})
		wantErr(t, l.Close(), context.DeadlineExceeded, "the store was still in use")
		close(st.free)
		noError(t, l.Shutdown(t.Context()))
		<-l.Done()
	})
}

// generator opens a lease and starts a generator on it.
func generator(
	ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, c snowfence.Config, o *lease.Options,
) (*snowfence.Generator, error) {
	l, err := lease.Open(ctx, st, namespace, s, o)
	if err != nil {
		return nil, err
	}
	return l.Generator(c)
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// fails reports a call without an error.
var fails = tests.Fails
