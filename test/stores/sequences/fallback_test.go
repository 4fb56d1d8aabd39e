package sequences

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/test/harness/servers"
	"github.com/snowfence/snowfence/test/stores/faults"
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

// Redis and etcd do not add by themselves: programs read and swap, and must not
// get less for it. Strict numbers are in order over programs, none is lost, and
// dense ones go back.
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
