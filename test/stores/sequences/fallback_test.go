package sequences

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
	"github.com/snowfence/snowfence/test/stores/faults"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// connect opens a store as a program of its own would.
func connect(t testing.TB, url string) store.Store {
	t.Helper()
	st, closeStore, err := faults.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeStore() }) // its server may be gone
	return st
}

// Redis and etcd do not add by themselves: programs read and swap, and must not get less for it.
// Strict numbers are in order over programs, none is lost, and dense ones go back.
func TestStoresThatSwap(t *testing.T) {
	for kind, url := range map[string]string{
		"redis": servers.StartRedis(t).URL(),
		"etcd":  "etcd://" + servers.Address(servers.StartEtcd(t).Port),
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []sequence.Mode{sequence.Strict, sequence.Dense} {
				swapping(t, url, mode)
			}
		})
	}
}

// swapping lets three programs take numbers, and wants each exactly once.
func swapping(t *testing.T, url string, mode sequence.Mode) {
	name := string(mode)
	d := sequence.Definition{Mode: mode, MinRange: 5, MaxRange: 5}
	if err := sequence.Create(t.Context(), connect(t, url), name, d); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	var mu sync.Mutex
	var calls []call
	var wg sync.WaitGroup
	for range 3 {
		s, err := sequence.Open(t.Context(), connect(t, url), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			var callers sync.WaitGroup
			for range 2 {
				callers.Go(func() {
					for range 20 {
						begun := time.Since(start)
						n, err := next(t.Context(), s)
						if err != nil {
							t.Error(err)
							return
						}
						c := call{begun, time.Since(start), n}
						mu.Lock()
						calls = append(calls, c)
						mu.Unlock()
					}
				})
			}
			callers.Wait()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	slices.SortFunc(calls, func(a, b call) int { return int(a.number - b.number) })
	for i, c := range calls[1:] {
		if c.number == calls[i].number {
			t.Errorf("%s: number %d came twice", mode, c.number)
		}
	}
	if mode == sequence.Strict {
		inOrder(t, calls)
		if last := calls[len(calls)-1].number; last != int64(len(calls)) {
			t.Errorf("%d numbers up to %d", len(calls), last)
		}
	}
}

// A Redis that was restarted is another one, because it may have lost writes: a sequence stops
// until it is confirmed, and one that trusts the server goes on.
func TestRedisThatIsRestarted(t *testing.T) {
	t.Parallel()
	r := servers.StartRedis(t)
	st := connect(t, r.URL())
	open := map[int64]*sequence.Sequence{}
	names := map[int64]string{sequence.Stop: "stops", sequence.Trust: "trusts"}
	for after, name := range names {
		d := sequence.Definition{Mode: sequence.Strict, AfterFailover: after}
		if err := sequence.Create(t.Context(), st, name, d); err != nil {
			t.Fatal(err)
		}
		s, err := sequence.Open(t.Context(), st, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if n, err := next(t.Context(), s); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		open[after] = s
	}
	r.Kill()
	r.Again(t)
	if n, err := next(t.Context(), open[sequence.Trust]); err != nil || n < 2 {
		t.Errorf("the one that trusts the server: %d, %v", n, err)
	}
	if n, err := next(t.Context(), open[sequence.Stop]); !errors.Is(err, sequence.ErrRolledBack) {
		t.Errorf("the one that stops: %d, %v", n, err)
	}
	floor := int64(10)
	fleet.Eventually(t, "the confirmation", func() error {
		return sequence.Confirm(t.Context(), st, "stops", sequence.Confirmation{Floor: &floor})
	})
	if n, err := next(t.Context(), open[sequence.Stop]); err != nil || n != floor {
		t.Errorf("after the confirmation: %d, %v", n, err)
	}
}

// The key of a sequence that is put back in etcd is older than what a program saw.
func TestKeyOfEtcdThatIsPutBack(t *testing.T) {
	t.Parallel()
	e := servers.StartEtcd(t)
	st, c := connect(t, "etcd://"+servers.Address(e.Port)), servers.EtcdClient(t, e)
	if err := sequence.Create(t.Context(), st, "orders", sequence.Definition{Mode: sequence.Strict}); err != nil {
		t.Fatal(err)
	}
	s, err := sequence.Open(t.Context(), st, "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	take := func(want int64) {
		t.Helper()
		if n, err := next(t.Context(), s); err != nil || n != want {
			t.Fatalf("%d, %v, want %d", n, err, want)
		}
	}
	take(1)
	all, err := c.Get(t.Context(), "", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	take(2)
	take(3)
	for _, kv := range all.Kvs {
		if _, err := c.Put(context.WithoutCancel(t.Context()), string(kv.Key), string(kv.Value)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := next(t.Context(), s); !errors.Is(err, sequence.ErrRolledBack) {
		t.Errorf("keys were put back: %d, %v", n, err)
	}
}
