package lease

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// A wrong call of a group hurts no call that would have shared its round trip.
func TestGroupRefusesAKeyTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := make(chan struct{})
		var once sync.Once
		st := &scripted{Memory: store.NewMemory()}
		st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			once.Do(func() { <-wait })
			return do(ws)
		}
		g := Group(st)
		of := func(node int64) store.Write {
			return store.Write{New: store.Record{Key: store.Key{Namespace: "n", Node: node}, Nonce: "x"}}
		}
		results := make([][]error, 3)
		for i, ws := range [][]store.Write{{of(1)}, {of(2), of(2)}, {of(3)}} {
			go func() { results[i] = g.Swap(t.Context(), ws) }()
			synctest.Wait()
		}
		close(wait)
		synctest.Wait()
		if errs := errors.Join(append(results[0], results[2]...)...); errs != nil || st.swaps != 2 {
			t.Errorf("%v, after %d round trips", errs, st.swaps)
		}
		if errs := results[1]; len(errs) != 2 || errs[0] == nil || errs[1] == nil {
			t.Errorf("a key twice: %v", errs)
		}
	})
}

// What the store does not answer is not answered.
func TestGroupWithoutAnswers(t *testing.T) {
	st := &scripted{Memory: store.NewMemory(), id: "one", clock: time.Unix(1, 0)}
	g := Group(st)
	id, err := g.Identity(t.Context(), "n")
	now, err2 := g.Now(t.Context())
	if err := errors.Join(err, err2); err != nil || id != "one" || !now.Equal(st.clock) {
		t.Errorf("store %q at %v, %v", id, now, err)
	}
	st.idErr, st.clockErr = errSilent, errSilent
	st.onGet = func([]store.Key) error { return errSilent }
	st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
	if id, err := g.Identity(t.Context(), "n"); !errors.Is(err, errSilent) {
		t.Errorf("identity %q, %v", id, err)
	}
	if now, err := g.Now(t.Context()); !errors.Is(err, errSilent) {
		t.Errorf("time %v, %v", now, err)
	}
	if rs, err := g.Get(t.Context(), []store.Key{{Namespace: "n", Node: 1}}); !errors.Is(err, errSilent) {
		t.Errorf("records %v, %v", rs, err)
	}
	if errs := g.Swap(t.Context(),
		[]store.Write{{New: store.Record{Key: store.Key{Namespace: "n", Node: 1}, Nonce: "x"}}}); len(errs) != 1 ||
		!errors.Is(errs[0], errSilent) {
		t.Errorf("writes: %v", errs)
	}
}

// short is a store whose answers are one too few.
type short struct{ *store.Memory }

func (s short) Get(ctx context.Context, keys []store.Key) ([]store.Record, error) {
	rs, err := s.Memory.Get(ctx, keys)
	return rs[1:], err
}

func (s short) Swap(ctx context.Context, ws []store.Write) []error { return s.Memory.Swap(ctx, ws)[1:] }

// An answer to less than was asked answers no call.
func TestGroupOverAStoreThatAnswersLess(t *testing.T) {
	g := Group(short{store.NewMemory()})
	if rs, err := g.Get(t.Context(), []store.Key{{Namespace: "n", Node: 1}, {Namespace: "n", Node: 2}}); err == nil {
		t.Errorf("records: %v", rs)
	}
	errs := g.Swap(t.Context(), []store.Write{
		{New: store.Record{Key: store.Key{Namespace: "n", Node: 1}, Nonce: "x"}}, {New: store.Record{Key: store.Key{Namespace: "n", Node: 2}, Nonce: "x"}},
	})
	if len(errs) != 2 || slices.Contains(errs, nil) ||
		slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, store.ErrLost) }) {
		t.Errorf("writes: %v", errs)
	}
}

// The record of a namespace is decoded once, and again when it is another. One that is damaged is
// not kept.
func TestGroupDecodesANamespaceOnce(t *testing.T) {
	stage := empty(t, withRollback)
	g := Group(stage.st).(*group)
	first := stage.record(store.NamespaceNode)
	for range 2 {
		if ns, err := g.decode(first); err != nil || ns.Nodes.Until != 256 || ns.record != first {
			t.Errorf("%+v, %v", ns, err)
		}
	}
	kept := g.decoded.Load()
	if _, err := g.decode(first); err != nil || g.decoded.Load() != kept {
		t.Errorf("decoded again: %v", err)
	}
	stage.rename(func(ns *Namespace) { ns.Nodes.Until = 100 })
	if ns, err := g.decode(stage.record(store.NamespaceNode)); err != nil || ns.Nodes.Until != 100 {
		t.Errorf("after a change: %+v, %v", ns, err)
	}
	kept = g.decoded.Load()
	damaged := first
	damaged.Data = "{"
	if ns, err := g.decode(damaged); err == nil || g.decoded.Load() != kept {
		t.Errorf("damaged: %+v, kept %+v", ns, g.decoded.Load())
	}
}

// A store that could not be pinned is pinned for the next lease, and as long as that lives.
func TestGroupPinsAgainAfterAnError(t *testing.T) {
	p := &pinned{scripted: &scripted{Memory: store.NewMemory()}, err: errSilent}
	g := Group(p)
	if _, err := g.Pin(t.Context()); !errors.Is(err, errSilent) {
		t.Errorf("pinned: %v", err)
	}
	p.err = nil
	for range 2 {
		one, err := g.Pin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.err = errSilent // the second lease is not asked for
		two, err := g.Pin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.err = nil
		one()
		one()
		if p.open != 1 {
			t.Errorf("with one lease left it is kept open %d times", p.open)
		}
		two()
		if p.open != 0 {
			t.Errorf("without leases it is kept open %d times", p.open)
		}
	}
}
