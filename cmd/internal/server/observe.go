package server

import (
	"context"
	"errors"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

type observed struct {
	store.Store
	hide    func(text string) string
	latency *StoreLatency
}

// Observe returns a store with counted round trips, and with errors that
// callers may see: only LogText has a driver's words, and hide removes the
// passwords from them. It goes below everything else, so that nothing above
// has to think of it, and below store.Group, so that a shared trip is
// counted once. A nil hide takes nothing out.
func Observe(st store.Store, hide func(text string) string) (store.Store, *StoreLatency) {
	if hide == nil {
		hide = func(text string) string { return text }
	}
	s := &observed{st, hide, new(StoreLatency)}
	return s, s.latency
}

// observe makes a round trip.
func observe[A any](s *observed, o Op, call func() (A, store.Reply, error)) (A, store.Reply, error) {
	began := time.Now()
	defer s.latency.beginTrip(began)()
	answer, reply, err := call()
	err = s.wrapError(err)
	s.latency.addTrip(o, began, err)
	return answer, reply, err
}

// Get implements [store.Store].
func (s *observed) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	return observe(s, OpGet, func() ([]store.Record, store.Reply, error) { return s.Store.Get(ctx, keys) })
}

// List implements [store.Store].
func (s *observed) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	return observe(s, OpList, func() ([]store.Record, store.Reply, error) {
		return s.Store.List(ctx, namespace, nodes, limit)
	})
}

// Heads implements [store.Store].
func (s *observed) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	return observe(s, OpHeads, func() ([]store.Record, store.Reply, error) { return s.Store.Heads(ctx) })
}

// Swap implements [store.Store]. A swap that was lost is an answer, no
// failure.
func (s *observed) Swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) (_ []error, read []store.Record, _ store.Reply) {
	errs, reply, _ := observe(s, OpSwap, func() (out []error, reply store.Reply, failed error) {
		results, rs, reply := s.Store.Swap(ctx, writes, then...)
		read = rs
		for _, err := range results {
			if err != nil && !errors.Is(err, store.ErrLost) {
				failed = err
			}
			out = append(out, s.wrapError(err))
		}
		return out, reply, failed
	})
	return errs, read, reply
}

// Add implements [store.Store]. That it was lost, or that the store cannot
// add, is an answer.
func (s *observed) Add(ctx context.Context, a store.Addition) (store.Record, store.Reply, error) {
	var answer error
	r, reply, err := observe(s, OpAdd, func() (store.Record, store.Reply, error) {
		r, reply, err := s.Store.Add(ctx, a)
		if errors.Is(err, store.ErrLost) || errors.Is(err, errors.ErrUnsupported) {
			answer, err = err, nil
		}
		return r, reply, err
	})
	if answer != nil {
		return r, reply, answer
	}
	return r, reply, err
}

// Suspect implements [store.Store].
func (s *observed) Suspect(ctx context.Context, identity string) error {
	return s.wrapError(s.Store.Suspect(ctx, identity))
}

// Pin implements [store.Store].
func (s *observed) Pin(ctx context.Context) (unpin func(), err error) {
	unpin, err = s.Store.Pin(ctx)
	return unpin, s.wrapError(err)
}

// wrapError hides the secrets in an error of the store.
func (s *observed) wrapError(err error) error {
	if err == nil || err == store.ErrLost { // alone it says nothing, and it is frequent
		return err
	}
	return newStoreError(err, s.hide)
}
