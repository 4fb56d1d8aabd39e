package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// busy is a store in which another process is always faster, or that fails.
type busy struct {
	store.Store
	swaps int
	read  error
	swap  error
}

func (b *busy) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	if b.read != nil {
		return nil, store.Reply{}, b.read
	}
	return b.Store.Get(ctx, keys)
}

func (b *busy) Swap(context.Context, []store.Write, ...store.Key) ([]error, []store.Record, store.Reply) {
	b.swaps++
	return []error{b.swap}, nil, store.Reply{}
}

// An addition by swaps is tried again with pauses that grow, until ctx
// ends. Any other error than a lost swap ends it.
func TestAdditionWhileOthersAreFaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &busy{Store: store.NewMemory(), swap: store.ErrLost}
		r := store.Record{Key: store.Key{Namespace: "#n", Node: -2}, Nonce: "x", Generation: 1}
		if _, err := store.Put(t.Context(), st.Store, store.Write{New: r}); err != nil {
			t.Fatal(err)
		}
		a := store.Addition{Key: r.Key, N: 1, Limit: 100, Generation: 1, Nonce: "y"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := store.Add(ctx, st, a); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if st.swaps < 60 || st.swaps > 1000 { // a pause of 8 ms on average, after the first ones
			t.Errorf("%d attempts in a second", st.swaps)
		}
		st.swap = errors.New("no answer")
		if _, _, err := store.Add(t.Context(), st, a); !errors.Is(err, st.swap) {
			t.Errorf("%v", err)
		}
		st.read = errors.New("no record")
		if _, _, err := store.Add(t.Context(), st, a); !errors.Is(err, st.read) {
			t.Errorf("%v", err)
		}
	})
}
