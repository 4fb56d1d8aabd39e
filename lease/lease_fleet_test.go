package lease_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// TestFleet lets processes with real generators share few nodes for an hour: their clocks
// step both ways, their stores go away, they crash, end and start again, and an operator
// evicts some. No ID is made twice, and those of one generator increase.
func TestFleet(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) { fleet(t, seed) })
	}
}

func fleet(t *testing.T, seed uint64) {
	st, s := lease.NewMemory(), newScheme(t, "time=41,node=3,seq=12,epoch=1999-01-01,tick=1ms")
	if _, err := lease.CreateNamespace(t.Context(), st, "default", s, nil); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[snowfence.ID]int{}
	end := time.Now().Add(time.Hour)
	var starts, crashes, failures atomic.Int64
	var wg sync.WaitGroup
	for p := range 6 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(p)))
			node := int64(p % 3)
			for time.Now().Before(end) {
				// A new process, with a clock of its own.
				var off atomic.Int64
				off.Store(rnd.Int64N(int64(4*time.Second)) - int64(2*time.Second))
				began := time.Now()
				clock := func() (time.Time, time.Duration) {
					return time.Now().Add(time.Duration(off.Load())), time.Since(began)
				}
				mine := &outage{Store: st}
				o := &lease.Options{Time: clock, Wait: true}
				if p < 2 {
					o.Node = &node // two of them want nodes that others may have
				}
				l, err := lease.Open(t.Context(), mine, "default", s, o)
				if err != nil {
					t.Error(err)
					return
				}
				starts.Add(1)
				g, err := snowfence.New(snowfence.Config{Fence: l, Time: clock, Lead: rnd.Int64N(3) * 100})
				if err != nil {
					l.Orphan()
					failures.Add(1)
					time.Sleep(time.Second)
					continue
				}
				var last snowfence.ID
				for life := time.Now().Add(time.Duration(rnd.Int64N(int64(3 * time.Minute)))); time.Now().Before(
					life) && time.Now().Before(end); {
					switch rnd.IntN(400) {
					case 0:
						off.Add(rnd.Int64N(int64(20*time.Second)) - int64(10*time.Second))
					case 1:
						mine.away.Store(true)
					case 2, 3, 4:
						mine.away.Store(false)
					case 5:
						_, _ = lease.ReleaseNode(t.Context(), st, "default", rnd.Int64N(8))
					}
					ids := make([]snowfence.ID, 1+rnd.IntN(20))
					n, err := g.Fill(t.Context(), ids)
					if err != nil {
						if !errors.Is(err, snowfence.ErrFenced) && !errors.Is(err, snowfence.ErrExhausted) {
							t.Error(err)
							return
						}
						failures.Add(1)
					}
					mu.Lock()
					for _, id := range ids[:n] {
						if other, ok := seen[id]; ok {
							t.Errorf("seed %d: ID %d was made by process %d and by %d", seed, id, other, p)
						}
						seen[id] = p
						if id <= last {
							t.Errorf("seed %d: process %d made %d after %d", seed, p, id, last)
						}
						last = id
					}
					mu.Unlock()
					time.Sleep(time.Duration(rnd.Int64N(int64(200 * time.Millisecond))))
				}
				if rnd.IntN(2) == 0 {
					l.Orphan() // a crash
					crashes.Add(1)
					continue
				}
				if err := errors.Join(g.Close(), l.Close()); err != nil && !mine.away.Load() {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("seed %d: %d IDs in an hour, %d starts, %d crashes, %d calls without an ID", seed, len(seen),
		starts.Load(), crashes.Load(), failures.Load())
	if len(seen) < 500_000 {
		t.Errorf("only %d IDs", len(seen))
	}
}
