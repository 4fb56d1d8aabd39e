package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

const (
	name = "conformance"
	// by the clock of the world; far longer than any test, so that only the
	// test's steps happen
	ttl = 10 * time.Minute
)

// world is the scene of one test: a store that can fail, a clock that
// stands still until it is moved, and a ledger of all grants.
type world struct {
	*testing.T
	ctx    context.Context
	st     *faulty
	scheme *snowfence.Scheme
	ledger ledger

	mu   sync.Mutex
	now  time.Time
	mono time.Duration // how long the world exists
}

func newWorld(t *testing.T, st store.Store) *world {
	w := &world{T: t, st: newFaulty(st), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	ctx, cancel := context.WithTimeout(context.Background(), w.shareOfTime(2, 10*time.Minute))
	t.Cleanup(cancel)
	w.ctx = ctx
	w.scheme = w.newScheme("time=41,node=4,seq=10,epoch=2025-01-01,tick=1ms")
	if _, err := scope.Namespaces(w.st).Create(ctx, name, w.scheme, wide()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) newScheme(spec string) *snowfence.Scheme {
	w.Helper()
	l, err := snowfence.ParseLayout(spec)
	w.mustNot(err)
	s, err := snowfence.NewScheme(l)
	w.mustNot(err)
	return s
}

func (w *world) mustNot(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) passTime(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now, w.mono = w.now.Add(d), w.mono+d
}

// skewedSource is a clock of the world that is off by skew.
func (w *world) skewedSource(skew time.Duration) snowfence.TimeSource {
	return func() (time.Time, time.Duration) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now.Add(skew), w.mono
	}
}

func (w *world) tick() int64 { return w.scheme.Layout().TickOf(w.time()) }

func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) readNode(node int64) store.Record {
	w.Helper()
	rs, _, err := w.st.Store.Get(w.ctx, []store.Key{{Namespace: name, Node: node}})
	w.mustNot(err)
	return rs[0]
}
