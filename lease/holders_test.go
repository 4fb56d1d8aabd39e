package lease_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store/storetest"
)

// told is a store over which what Holders refuses is remembered.
type told struct {
	lease.Store
	mu      sync.Mutex
	refused []string
}

func (o *told) Swap(ctx context.Context, writes []lease.Write) []error {
	errs := o.Store.Swap(ctx, writes)
	for _, err := range errs {
		if errors.Is(err, lease.ErrRefused) {
			o.mu.Lock()
			o.refused = append(o.refused, err.Error())
			o.mu.Unlock()
		}
	}
	return errs
}

// All that leases do passes, also while the store is rolled back: the suite runs over Holders, and
// nothing is refused.
func TestHoldersLetsLeasesWork(t *testing.T) {
	var mu sync.Mutex
	stores := map[string]*told{}
	t.Run("suite", func(t *testing.T) {
		open := func(t *testing.T) lease.Store { return lease.NewMemory() }
		storetest.RunThrough(t, open, func(st lease.Store, now func() time.Time) lease.Store {
			o := &told{Store: lease.Holders(st, now)}
			mu.Lock()
			defer mu.Unlock()
			stores[fmt.Sprint(len(stores))] = o
			return o
		})
	})
	for _, o := range stores {
		for _, why := range o.refused {
			t.Errorf("refused: %s", why)
		}
	}
	if len(stores) < 30 {
		t.Errorf("%d tests of the suite ran", len(stores))
	}
}

// Holders passes on what writes nothing: a lease over it notices that the store was replaced, and
// finds a free node by counting.
func TestHoldersPassOn(t *testing.T) {
	storetest.Wrapper(t, func(st lease.Store) lease.Store { return lease.Holders(st, nil) })
}

// The holder itself lowers the end of its grant, and the store keeps nothing of what it showed for
// it.
func TestHoldersLetTheHolderGiveBack(t *testing.T) {
	raw := lease.NewMemory()
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.CreateNamespace(t.Context(), raw, "n", s, nil); err != nil {
		t.Fatal(err)
	}
	node := int64(7)
	for range 3 {
		l, err := lease.Open(t.Context(), lease.Holders(raw, nil), "n", s, &lease.Options{
			Node: &node,
			TTL:  10 * time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		read := func() lease.Record {
			rs, err := raw.Get(t.Context(), []lease.Key{{Namespace: "n", Node: node}})
			if err != nil {
				t.Fatal(err)
			}
			return rs[0]
		}
		held := read()
		if held.Data != "" || held.Label == "" {
			t.Errorf("the store keeps %+v", held)
		}
		g, err := snowfence.New(snowfence.Config{Fence: l})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if back := read(); back.Holder != "" || back.Until >= held.Until {
			t.Errorf("not given back: until %d, before %d", back.Until, held.Until)
		}
	}
}
