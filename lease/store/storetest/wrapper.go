package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence"

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

// toldReply is the reply to each call.
var toldReply = store.Reply{Identity: "identity of told", Now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}

func (s *told) Get(_ context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	return []store.Record{{Key: keys[0], From: 7}}, toldReply, s.err
}

func (s *told) List(context.Context, string, snowfence.NodeRange, int) ([]store.Record, store.Reply, error) {
	return nil, toldReply, s.err
}

func (s *told) Heads(context.Context) ([]store.Record, store.Reply, error) {
	return nil, toldReply, s.err
}

func (s *told) Swap(_ context.Context, writes []store.Write, then ...store.Key) ([]error, []store.Record, store.Reply) {
	var rs []store.Record
	for _, k := range then {
		rs = append(rs, store.Record{Key: k, From: 7})
	}
	return slices.Repeat([]error{s.err}, len(writes)), rs, toldReply
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

func (s *told) Add(_ context.Context, a store.Addition) (store.Record, store.Reply, error) {
	return store.Record{Key: a.Key, Nonce: a.Nonce, From: 7}, toldReply, s.err
}

func (s *told) Suspect(_ context.Context, identity string) error {
	s.identities = append(s.identities, identity)
	return s.err
}

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
				faults = append(faults, fmt.Errorf("%s: the wrapper returns the error %v, and the store inside %v: "+
					"embed that store, not store.Basic", method, err, inner.err))
			case err == nil && !right:
				faults = append(faults, fmt.Errorf("%s: the answer of the store inside is lost, or its Reply: leases "+
					"would not be renewed: embed that store, not store.Basic", method))
			}
		}
		st := wrap(inner)
		k := store.Key{Namespace: "a", Node: store.NamespaceNode}
		rs, reply, err := st.Get(ctx, []store.Key{k})
		check("Get", err, len(rs) == 1 && rs[0] == store.Record{Key: k, From: 7} && reply == toldReply)
		_, reply, err = st.List(ctx, "a", snowfence.NodeRange{Until: 1}, 1)
		check("List", err, reply == toldReply)
		_, reply, err = st.Heads(ctx)
		check("Heads", err, reply == toldReply)
		errs, rs, reply := st.Swap(ctx, []store.Write{{New: store.Record{Key: k, Nonce: "n"}}}, k)
		check("Swap", errs[0], len(rs) == 1 && rs[0] == store.Record{Key: k, From: 7} && reply == toldReply)
		a := store.Addition{Key: store.Key{Namespace: "#a", Node: -2}, Nonce: "n"}
		r, reply, err := st.Add(ctx, a)
		if !errors.Is(err, lease.ErrRefused) { // a wrapper for holders, who add nothing
			check("Add", err, r == store.Record{Key: a.Key, Nonce: "n", From: 7} && reply == toldReply)
		}
		err = st.Suspect(ctx, "one")
		check("Suspect", err, slices.Equal(inner.identities, []string{"one"}))
		unpin, err := st.Pin(ctx)
		if err == nil {
			unpin()
		}
		check("Pin", err, inner.pins == 1 && inner.unpin == 1)
	}
	return faults
}
