package linear

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/snowfence/snowfence/lease/store"
)

var errAway = errors.New("no answer")

// unreliable is a network before a store: it loses requests and replies,
// and delivers some requests late. What it does to the results is right.
type unreliable struct {
	store.Store
	late *sync.WaitGroup
}

func (u unreliable) Swap(
	ctx context.Context, writes []store.Write, _ ...store.Key,
) ([]error, []store.Record, store.Reply) {
	switch rand.IntN(20) {
	case 0:
		return all(writes, errAway), nil, store.Reply{}
	case 1:
		u.Store.Swap(ctx, writes)
		return all(writes, errAway), nil, store.Reply{}
	case 2:
		wait := time.Duration(rand.IntN(20)) * time.Millisecond
		u.late.Go(func() {
			time.Sleep(wait)
			u.Store.Swap(context.WithoutCancel(ctx), writes)
		})
		return all(writes, errAway), nil, store.Reply{}
	}
	return u.Store.Swap(ctx, writes)
}

func all(writes []store.Write, err error) []error {
	errs := make([]error, len(writes))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

func newUnreliable(t *testing.T, st store.Store) unreliable {
	u := unreliable{st, &sync.WaitGroup{}}
	t.Cleanup(u.late.Wait)
	return u
}

func TestMemory(t *testing.T) {
	t.Parallel()
	u := newUnreliable(t, slow{store.NewMemory()})
	check(t, subject{open: func(*testing.T) store.Store { return u }})
}

// slow takes as long as a store on this machine, so that histories stay
// short.
type slow struct{ store.Store }

func (s slow) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
	defer time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
	return s.Store.Get(ctx, keys)
}

func (s slow) Swap(ctx context.Context, writes []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
	defer time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
	return s.Store.Swap(ctx, writes)
}

// broken is a store that does something wrong now and then.
type broken struct {
	store.Store
	swap func(ctx context.Context, st store.Store, writes []store.Write) []error
	get  func(ctx context.Context, st store.Store, keys []store.Key) ([]store.Record, store.Reply, error)
}

func (b broken) Swap(ctx context.Context, writes []store.Write, _ ...store.Key) ([]error, []store.Record, store.Reply) {
	if b.swap != nil && rand.IntN(10) == 0 {
		return b.swap(ctx, b.Store, writes), nil, store.Reply{}
	}
	return b.Store.Swap(ctx, writes)
}

func (b broken) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	if b.get != nil && rand.IntN(10) == 0 {
		return b.get(ctx, b.Store, keys)
	}
	return b.Store.Get(ctx, keys)
}

// until judges histories until one has the verdict that is wanted. Whether
// a store's fault shows in a history is chance, and the less is done at one
// time the rarer.
func until(want porcupine.CheckResult, record func() *history) (result porcupine.CheckResult, page string) {
	for range 20 {
		_ = os.Remove(page)
		if result, page = record().verdict(); result == want {
			break
		}
	}
	return result, page
}

// TestBroken has stores with one fault each, and expects the checker to see
// it.
func TestBroken(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	remembered := map[store.Key]store.Record{}
	for name, b := range map[string]broken{
		"acknowledges what it does not do": {swap: func(_ context.Context, _ store.Store, writes []store.Write) []error {
			return make([]error, len(writes))
		}},
		"says lost when it does not know": {swap: func(ctx context.Context, st store.Store, writes []store.Write) []error {
			st.Swap(ctx, writes)
			return all(writes, store.ErrLost)
		}},
		"says lost and does it later": {swap: func(ctx context.Context, st store.Store, writes []store.Write) []error {
			go func() {
				time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
				st.Swap(context.WithoutCancel(ctx), writes)
			}()
			return all(writes, store.ErrLost)
		}},
		"says lost without looking": {swap: func(_ context.Context, _ store.Store, writes []store.Write) []error {
			return all(writes, store.ErrLost)
		}},
		"does not compare": {swap: func(ctx context.Context, st store.Store, writes []store.Write) []error {
			errs := make([]error, len(writes))
			for i, w := range writes {
				rs, _, err := st.Get(ctx, []store.Key{w.New.Key})
				if err != nil {
					return all(writes, err)
				}
				_, errs[i] = store.Put(ctx, st, store.Write{Old: rs[0].Nonce, New: w.New})
			}
			return errs
		}},
		"answers from a stale cache": {get: func(
			ctx context.Context, st store.Store, keys []store.Key,
		) ([]store.Record, store.Reply, error) {
			rs, reply, err := st.Get(ctx, keys)
			mu.Lock()
			defer mu.Unlock()
			for i, r := range rs {
				if old, ok := remembered[r.Key]; ok && err == nil {
					rs[i] = old
				}
				if rand.IntN(2) == 0 {
					remembered[r.Key] = r
				}
			}
			return rs, reply, err
		}},
		"forgets what it acknowledged": {swap: func(ctx context.Context, st store.Store, writes []store.Write) []error {
			var keys []store.Key
			for _, w := range writes {
				keys = append(keys, w.New.Key)
			}
			before, _, err := st.Get(ctx, keys)
			if err != nil {
				return all(writes, err)
			}
			errs, _, _ := st.Swap(ctx, writes)
			for i, w := range writes {
				if errs[i] == nil && before[i].Nonce != "" {
					st.Swap(ctx, []store.Write{{Old: w.New.Nonce, New: before[i]}})
				}
			}
			return errs
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, page := until(porcupine.Illegal, func() *history {
				mu.Lock()
				clear(remembered)
				mu.Unlock()
				b.Store = newUnreliable(t, slow{store.NewMemory()})
				return storm(t, subject{open: func(*testing.T) store.Store { return b }}, time.Second, 0)
			})
			if result != porcupine.Illegal {
				t.Errorf("the checker says %q about a store that %s", result, name)
			}
			if info, err := os.Stat(page); err != nil || info.Size() == 0 {
				t.Errorf("no page to look at: %v", err)
			}
			_ = os.Remove(page)
		})
	}
}
