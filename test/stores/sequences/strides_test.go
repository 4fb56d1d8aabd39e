package sequences

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/redisstore"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// redisStores connects to the servers that answer, as a program does when it
// starts.
func redisStores(t testing.TB, all []*servers.Redis) (stores []store.Store) {
	t.Helper()
	for _, r := range all {
		c, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{r.Address()}, ForceSingleClient: true, DisableCache: true,
		})
		if err != nil {
			t.Logf("left out: %v", err)
			continue
		}
		t.Cleanup(c.Close)
		st, err := redisstore.New(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, st)
	}
	return stores
}

// given are the numbers that programs got.
type given struct {
	mu   sync.Mutex
	seen map[int64]bool
}

// take takes so many numbers, each of which must be there within patience, and
// be new.
func (n *given) take(t *testing.T, a *sequence.Sequence, count int) {
	for range count {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		number, err := a.Next(ctx)
		cancel()
		n.mu.Lock()
		twice := n.seen[number]
		n.seen[number] = true
		n.mu.Unlock()
		if err != nil || twice {
			t.Errorf("number %d, which came before: %t, %v", number, twice, err)
			return
		}
	}
}

// Programs take numbers of five Redis servers. One server is killed, another
// one stands still: the programs go on, one that starts meanwhile does, too,
// and no number comes twice.
func TestSequenceOverFiveRedisServers(t *testing.T) {
	t.Parallel()
	var all []*servers.Redis
	for range 5 {
		all = append(all, servers.StartRedis(t))
	}
	for i, st := range redisStores(t, all) {
		d := sequence.Definition{Start: new(int64(i + 1)), Step: 8, MinRange: 10, MaxRange: 50}
		if err := sequence.Create(t.Context(), st, "orders", d); err != nil {
			t.Fatal(err)
		}
	}
	open := func() *sequence.Sequence {
		t.Helper()
		a, err := sequence.OpenAny(t.Context(), redisStores(t, all), "orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		return a
	}
	programs := []*sequence.Sequence{open(), open(), open()}
	n := &given{seen: map[int64]bool{}}
	during := func(count int, happens func()) {
		var wg sync.WaitGroup
		for _, a := range programs {
			for range 2 {
				wg.Go(func() { n.take(t, a, count) })
			}
		}
		happens()
		wg.Wait()
	}
	during(2000, all[0].Kill)
	programs = append(programs, open())
	during(500, func() { all[1].Signal(t, syscall.SIGSTOP) })
	during(500, func() {
		all[1].Signal(t, syscall.SIGCONT)
		all[0].Again(t)
	})

	// The server that was killed may have lost what it acknowledged. It gives
	// numbers again when the sequence is confirmed there.
	again := redisStores(t, all[:1])
	if a, err := sequence.OpenAny(t.Context(), again, "orders", nil); !errors.Is(err, sequence.ErrRolledBack) {
		t.Fatalf("%v, %v", a, err)
	}
	floor := int64(1_000_000)
	if err := sequence.Confirm(t.Context(), again[0], "orders", sequence.Confirmation{Floor: &floor}); err != nil {
		t.Fatal(err)
	}
	programs = append(programs, open())
	during(500, func() {})
	if want := 3*2*2000 + 4*2*500*2 + 5*2*500; len(n.seen) != want {
		t.Errorf("%d numbers, want %d", len(n.seen), want)
	}
}
