package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// basic is a wrapper as it must not be: it passes on only what a store
// cannot do without.
type basic struct {
	store.Basic
	st store.Store
}

func (b basic) Get(ctx context.Context, keys []store.Key) ([]store.Record, error) {
	return b.st.Get(ctx, keys)
}

func (b basic) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, error) {
	return b.st.List(ctx, namespace, nodes, limit)
}

func (b basic) Heads(ctx context.Context) ([]store.Record, error) { return b.st.Heads(ctx) }

func (b basic) Swap(ctx context.Context, writes []store.Write) []error {
	return b.st.Swap(ctx, writes)
}

type noAdd struct{ store.Store }

func (noAdd) Add(context.Context, store.Addition) (store.Record, error) {
	return store.Record{}, errors.ErrUnsupported
}

type noIdentity struct{ store.Store }

func (noIdentity) Identity(context.Context, string) (string, error) { return "", nil }

type oneIdentity struct{ store.Store }

func (o oneIdentity) Identity(ctx context.Context, _ string) (string, error) {
	return o.Store.Identity(ctx, "")
}

type noSuspicion struct{ store.Store }

func (noSuspicion) Suspect(context.Context, string) error { return nil }

type noClock struct{ store.Store }

func (noClock) Now(context.Context) (time.Time, error) { return time.Time{}, nil }

type noPin struct{ store.Store }

func (noPin) Pin(context.Context) (func(), error) { return func() {}, nil }

// keepsPin does not unpin.
type keepsPin struct{ store.Store }

func (k keepsPin) Pin(ctx context.Context) (func(), error) {
	_, err := k.Store.Pin(ctx)
	return func() {}, err
}

// hidesErrors says that all is well.
type hidesErrors struct{ store.Store }

func (h hidesErrors) Identity(ctx context.Context, namespace string) (string, error) {
	id, _ := h.Store.Identity(ctx, namespace)
	return id, nil
}

// A wrapper that swallows a method is found by the name of the method, for
// an answer and for an error each; one that embeds the store inside it is
// as it should be.
func TestWrapperThatSwallowsIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		wrap func(store.Store) store.Store
		want string
	}{
		"embeds the store":  {func(st store.Store) store.Store { return struct{ store.Store }{st} }, "[]"},
		"the store itself":  {func(st store.Store) store.Store { return st }, "[]"},
		"a group":           {store.Group, "[]"},
		"a faulty store":    {func(st store.Store) store.Store { return newFaulty(st) }, "[Now Now]"}, // on purpose
		"embeds Basic":      {func(st store.Store) store.Store { return basic{st: st} }, "[Add Identity Suspect Now Pin Add Identity Suspect Now Pin]"},
		"no addition":       {func(st store.Store) store.Store { return noAdd{st} }, "[Add Add]"},
		"no identity":       {func(st store.Store) store.Store { return noIdentity{st} }, "[Identity Identity]"},
		"no namespace":      {func(st store.Store) store.Store { return oneIdentity{st} }, "[Identity]"},
		"no suspicion":      {func(st store.Store) store.Store { return noSuspicion{st} }, "[Suspect Suspect]"},
		"no clock":          {func(st store.Store) store.Store { return noClock{st} }, "[Now Now]"},
		"no pin":            {func(st store.Store) store.Store { return noPin{st} }, "[Pin Pin]"},
		"a pin that stays":  {func(st store.Store) store.Store { return keepsPin{st} }, "[Pin]"},
		"errors are hidden": {func(st store.Store) store.Store { return hidesErrors{st} }, "[Identity]"},
	} {
		methods := []string{}
		for _, err := range swallowed(t.Context(), c.wrap) {
			method, _, _ := strings.Cut(err.Error(), ":")
			methods = append(methods, method)
		}
		if got := fmt.Sprint(methods); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
