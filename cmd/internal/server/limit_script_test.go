package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// script is a store in which others act between the steps of a request.
type script struct {
	store.Store
	begin func(ws []store.Write)          // before each swap
	end   func(errs []error)              // after each swap: it may change the answer
	count func(ctx context.Context) error // before each list of all nodes
	late  time.Duration                   // how long the answer to such a list takes
}

func (s *script) Swap(
	ctx context.Context, ws []store.Write, _ ...store.Key,
) (_ []error, _ []store.Record, reply store.Reply) {
	if s.begin != nil {
		s.begin(ws)
	}
	errs, _, reply := s.Store.Swap(ctx, ws)
	if s.end != nil {
		s.end(errs)
	}
	return errs, nil, reply
}

func (s *script) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) (_ []store.Record, reply store.Reply, _ error) {
	if nodes.Until != math.MaxInt64 {
		return s.Store.List(ctx, namespace, nodes, limit) // it looks for a free node
	}
	if s.count != nil {
		if err := s.count(ctx); err != nil {
			return nil, reply, err
		}
	}
	rs, reply, err := s.Store.List(ctx, namespace, nodes, limit)
	time.Sleep(s.late)
	return rs, reply, err
}

// scripted returns a script over a new store, and a server over it.
func scripted(t *testing.T, names ...string) (*script, *Service) {
	t.Helper()
	st := &script{Store: newStore(t, names...)}
	s := New(st, Options{})
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return st, s
}

// leased is the record of a node of a namespace, held for a ttl from now
// on.
func leased(t *testing.T, s *Service, namespace string, node int64, label string, ttl time.Duration) store.Record {
	t.Helper()
	v := must(s.Views.newView(t.Context(), namespace))
	now := v.Layout.TickOf(s.now())
	return store.Record{
		Key: store.Key{Namespace: namespace, Node: node}, Nonce: rand.Text(), Revision: 1,
		Generation: v.Namespace.Generation,
		From:       now, Until: now + v.Layout.TickOf(s.now().Add(ttl)) - now, Holder: label + ".1", Label: label,
	}
}

// put writes records as another server does.
func put(t *testing.T, st *script, rs ...store.Record) {
	t.Helper()
	for _, r := range rs {
		old := got(st.Store.Get(context.Background(), []store.Key{r.Key}))
		errs, _, _ := st.Store.Swap(context.Background(), []store.Write{{Old: old[0].Nonce, New: r}})
		if errs[0] != nil {
			t.Fatal(errs[0])
		}
	}
}

// takeNode takes a node of the namespace n as a caller with a verb does.
func takeNode(ctx context.Context, t *testing.T, s *Service, id *Identity, node int64) error {
	t.Helper()
	o := wire.Request{Label: fmt.Sprint(node), Node: &node, TTL: time.Minute}
	_, _, err := s.Leases.Acquire(ctx, id, "n", o)
	return err
}

// heldNode takes a node. renew renews it, and until is the first tick that
// is not granted before.
func heldNode(t *testing.T, s *Service, id *Identity, node int64, ttl time.Duration) (renew func() error, until int64) {
	t.Helper()
	o := wire.Request{Label: "first", Node: &node, TTL: ttl}
	g, _, err := s.Leases.Acquire(t.Context(), id, "n", o)
	noError(t, err)
	return func() error {
		_, _, err := s.Leases.Renew(t.Context(), id, g.Lease, "attempt-0123456789")
		return err
	}, g.Grant.Until
}
