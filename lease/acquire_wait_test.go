package lease_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// reads counts how often records are read by their keys.
type reads struct {
	store.Store
	n atomic.Int64
}

func (r *reads) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	r.n.Add(1)
	return r.Store.Get(ctx, keys)
}

// All nodes are vetoed, so it is unknown when one frees. Open then asks a
// few times a second, not all the time.
func TestWaitingForAVetoedNodeIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := &reads{Store: store.NewMemory()}, thousand(t)
		must(scope.Namespaces(st).Create(t.Context(), "default", s, nil))
		for node := range s.Nodes() {
			must(scope.Namespaces(st).Veto(t.Context(), "default", node, "broken"))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		before := st.n.Load()
		if l, err := lease.Open(ctx, st, "default", s, &lease.Options{Wait: true}); err == nil {
			l.Orphan()
			t.Fatal("it leased a vetoed node")
		}
		if n := st.n.Load() - before; n > 600 {
			t.Errorf("%d reads in a minute", n)
		}
	})
}
