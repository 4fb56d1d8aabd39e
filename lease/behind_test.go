package lease_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// altered is what a lease sees of a server whose answers about nodes are changed.
type altered struct {
	lease.Store
	how atomic.Pointer[func(*lease.Record)]
}

func (a *altered) Get(ctx context.Context, keys []lease.Key) ([]lease.Record, error) {
	rs, err := a.Store.Get(ctx, keys)
	if how := a.how.Load(); how != nil {
		for i := range rs {
			if rs[i].Node >= 0 && rs[i].Nonce != "" {
				(*how)(&rs[i])
			}
		}
	}
	return rs, err
}

// A lease that saw a rollback, and cannot prove it to the server, goes on when all
// that it made lies in the past.
func TestSetBackWithoutProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw, s := lease.NewMemory(), thousand(t)
		if _, err := lease.CreateNamespace(t.Context(), raw, "default", s, nil); err != nil {
			t.Fatal(err)
		}
		st := &altered{Store: lease.Holders(raw, nil)}
		unsigned := func(r *lease.Record) { r.Data = "" }
		st.how.Store(&unsigned)
		node := int64(3)
		// the record that the store is rolled back to
		if err := open(t, st, s, lease.Options{Node: &node}).Close(); err != nil {
			t.Fatal(err)
		}
		restore := setBack(t, raw)
		l := open(t, st, s, lease.Options{Node: &node, Idle: -1})
		defer l.Orphan()
		used := l.Status().Grant
		restore()
		for end := time.Now().Add(4 * ttl); time.Now().Before(end); time.Sleep(ttl / 100) {
			if g := l.Status(); g.Held && g.Grant != used && g.Grant.From < used.Until {
				t.Fatalf("after %+v the lease is granted %+v", used, g.Grant)
			}
		}
		if g := l.Status(); !g.Held || g.Grant == used {
			t.Errorf("it does not go on: %+v", g)
		}
		if ns, err := lease.ShowNamespace(t.Context(), raw, "default"); err != nil || ns.Generation != 1 {
			t.Errorf("the floor was raised without proof: %+v, %v", ns, err)
		}
	})
}

// What is no longer in the store right after it was written is not used.
func TestHoldersLoseWhatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw, s := lease.NewMemory(), thousand(t)
		if _, err := lease.CreateNamespace(t.Context(), raw, "default", s, nil); err != nil {
			t.Fatal(err)
		}
		st := &altered{Store: lease.Holders(raw, nil)}
		node := int64(3)
		l := open(t, st, s, lease.Options{Node: &node, Idle: -1})
		defer l.Orphan()
		used := l.Status().Grant
		other := func(r *lease.Record) { r.Nonce, r.Revision = "somebody's", r.Revision+1 }
		st.how.Store(&other)
		ctx, cancel := context.WithTimeout(t.Context(), ttl)
		defer cancel()
		if g, err := l.Grant(ctx, used.Until); err == nil {
			t.Errorf("after %+v it uses %+v, which somebody else has written over", used, g)
		}
		st.how.Store(nil)
		g, err := snowfence.New(snowfence.Config{Fence: l, MaxWait: 2 * ttl})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}
