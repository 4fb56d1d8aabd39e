package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// basic is a wrapper as it must not be: it passes on only what a store
// cannot do without.
type basic struct {
	store.Basic
	st store.Store
}

func (b basic) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	return b.st.Get(ctx, keys)
}

func (b basic) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	return b.st.List(ctx, namespace, nodes, limit)
}

func (b basic) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	return b.st.Heads(ctx)
}

func (b basic) Swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) ([]error, []store.Record, store.Reply) {
	return b.st.Swap(ctx, writes, then...)
}

type noAdd struct{ store.Store }

func (noAdd) Add(context.Context, store.Addition) (store.Record, store.Reply, error) {
	return store.Record{}, store.Reply{}, errors.ErrUnsupported
}

// noReply passes on what a call finds, and not who answered.
type noReply struct{ store.Store }

func (n noReply) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	rs, _, err := n.Store.Get(ctx, keys)
	return rs, store.Reply{}, err
}

func (n noReply) Swap(
	ctx context.Context, writes []store.Write, _ ...store.Key,
) ([]error, []store.Record, store.Reply) {
	errs, _, _ := n.Store.Swap(ctx, writes)
	return errs, nil, store.Reply{}
}

type noSuspicion struct{ store.Store }

func (noSuspicion) Suspect(context.Context, string) error { return nil }

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

func (h hidesErrors) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	rs, reply, _ := h.Store.Heads(ctx)
	return rs, reply, nil
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
		"a faulty store":    {func(st store.Store) store.Store { return newFaulty(st) }, "[Get Swap]"}, // on purpose: it has another clock
		"embeds Basic":      {func(st store.Store) store.Store { return basic{st: st} }, "[Add Suspect Pin Add Suspect Pin]"},
		"no addition":       {func(st store.Store) store.Store { return noAdd{st} }, "[Add Add]"},
		"no reply":          {func(st store.Store) store.Store { return noReply{st} }, "[Get Swap]"},
		"no suspicion":      {func(st store.Store) store.Store { return noSuspicion{st} }, "[Suspect Suspect]"},
		"no pin":            {func(st store.Store) store.Store { return noPin{st} }, "[Pin Pin]"},
		"a pin that stays":  {func(st store.Store) store.Store { return keepsPin{st} }, "[Pin]"},
		"errors are hidden": {func(st store.Store) store.Store { return hidesErrors{st} }, "[Heads]"},
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
