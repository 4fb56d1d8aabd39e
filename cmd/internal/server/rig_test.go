package server

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// slowStore is a store whose calls a test can hold up, count, and let fail.
type slowStore struct {
	store.Store
	swaps atomic.Int64
	mu    sync.Mutex
	held  chan struct{} // swaps wait for it to be closed; nil when they do not
	away  error
	met   chan struct{} // a swap has begun to wait
}

func (s *slowStore) hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.met = make(chan struct{}), make(chan struct{}, 100)
	held := s.held
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held = nil
		close(held)
	})
}

func (s *slowStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = err
}

func (s *slowStore) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	s.mu.Lock()
	err := s.away
	s.mu.Unlock()
	if err != nil {
		return nil, store.Reply{}, err
	}
	return s.Store.Get(ctx, keys)
}

func (s *slowStore) Swap(ctx context.Context, w []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	s.swaps.Add(1)
	s.mu.Lock()
	held, met, err := s.held, s.met, s.away
	s.mu.Unlock()
	if held != nil {
		met <- struct{}{}
		<-held
	}
	if err != nil {
		errs := make([]error, len(w))
		for i := range errs {
			errs[i] = err
		}
		return errs, nil, store.Reply{}
	}
	return s.Store.Swap(ctx, w)
}

func newStore(t *testing.T, names ...string) *slowStore {
	t.Helper()
	st := &slowStore{Store: store.NewMemory()}
	for _, name := range names {
		create(t, st, name, "twitter")
	}
	return st
}

func scheme(t *testing.T, layout string) *snowfence.Scheme {
	t.Helper()
	l := must(snowfence.ParseLayout(layout))
	return must(snowfence.NewScheme(l))
}

func create(t *testing.T, st store.Store, name, layout string) {
	t.Helper()
	must(scope.Namespaces(st).Create(t.Context(), name, scheme(t, layout), &scope.NamespaceOptions{
		MaxTTL: 10 * time.Minute,
	}))
}

func newService(t *testing.T, st store.Store, o Options) *Service {
	t.Helper()
	s := New(store.Group(st), o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = s.Close(ctx) // stores of some tests stay unreachable
	})
	return s
}

func (s *Service) one(ctx context.Context, name string) (snowfence.ID, error) {
	sp, err := s.Spaces.Find(ctx, name)
	if err != nil {
		return 0, err
	}
	return sp.Next(ctx)
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still not: ", what)
		}
	}
}

// held returns how many nodes of a namespace are held.
func held(t *testing.T, st store.Store, name string) (n int) {
	t.Helper()
	rs := must(scope.Namespaces(st).Leases(context.Background(), name))
	for _, r := range rs {
		if r.Holder != "" {
			n++
		}
	}
	return n
}

// anyone is the context of a request with all rights.
func anyone(ctx context.Context) context.Context {
	return WithCaller(ctx, &Caller{Identity: Open().Anyone()})
}

// wantKind fails the test unless an error is of a kind.
func wantKind(t *testing.T, err error, want Kind) {
	t.Helper()
	if KindOf(err) != want {
		t.Errorf("%v, want %s", err, want.Name())
	}
}
