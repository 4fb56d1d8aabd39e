package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// told is a store with an answer of its own to everything.
type told struct {
	*store.Memory
	err         error
	pins, unpin int
	identities  []string
}

// Wrapper checks that a store which wraps another one passes on the calls
// that it does not answer itself. A wrapper that embeds [store.Basic] in
// place of the store inside it fails: leases over it would not notice that
// the store was replaced.
func Wrapper(t *testing.T, wrap func(store.Store) store.Store) {
	t.Helper()
	for _, err := range swallowed(t.Context(), wrap) {
		t.Error(err)
	}
}

var toldTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (s *told) Add(_ context.Context, a store.Addition) (store.Record, error) {
	return store.Record{Key: a.Key, Nonce: a.Nonce, From: 7}, s.err
}

func (s *told) Identity(_ context.Context, namespace string) (string, error) {
	return "identity of " + namespace, s.err
}

func (s *told) Suspect(_ context.Context, identity string) error {
	s.identities = append(s.identities, identity)
	return s.err
}

func (s *told) Now(context.Context) (time.Time, error) { return toldTime, s.err }

func (s *told) Pin(context.Context) (func(), error) {
	s.pins++
	return func() { s.unpin++ }, s.err
}

// swallowed returns an error for each answer of the inner store that the
// wrapper does not pass on.
func swallowed(ctx context.Context, wrap func(store.Store) store.Store) (faults []error) {
	for _, inner := range []*told{{Memory: store.NewMemory()}, {Memory: store.NewMemory(), err: errFault}} {
		check := func(method string, err error, right bool) {
			switch {
			case !errors.Is(err, inner.err):
				faults = append(faults,
					fmt.Errorf("%s: the wrapper returns the error %v, and the store inside %v: "+
						"embed that store, not store.Basic", method, err, inner.err))
			case err == nil && !right:
				faults = append(faults,
					fmt.Errorf("%s: the answer of the store inside is lost: embed that store, not store.Basic", method))
			}
		}
		st := wrap(inner)
		a := store.Addition{Key: store.Key{Namespace: "#a", Node: -2}, Nonce: "n"}
		r, err := st.Add(ctx, a)
		if !errors.Is(err, lease.ErrRefused) { // a wrapper for holders, who add nothing
			check("Add", err, r == store.Record{Key: a.Key, Nonce: "n", From: 7})
		}
		id, err := st.Identity(ctx, "a")
		check("Identity", err, id == "identity of a")
		err = st.Suspect(ctx, "one")
		check("Suspect", err, slices.Equal(inner.identities, []string{"one"}))
		now, err := st.Now(ctx)
		check("Now", err, now.Equal(toldTime))
		unpin, err := st.Pin(ctx)
		if err == nil {
			unpin()
		}
		check("Pin", err, inner.pins == 1 && inner.unpin == 1)
	}
	return faults
}
