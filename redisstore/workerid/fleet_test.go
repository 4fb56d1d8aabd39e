package workerid

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
)

// machine is a process of the fleet: its own way to the server, which can
// be cut.
type machine struct {
	*simulated
	rand *rand.Rand
	mu   sync.Mutex
	cut  atomic.Bool
}

func (m *machine) draw(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rand.IntN(n)
}

func (m *machine) odds(percent int) bool { return m.draw(100) < percent }

// way waits, and loses requests.
func (m *machine) way() error {
	time.Sleep(time.Duration(m.draw(40)) * time.Millisecond)
	if m.cut.Load() || m.odds(4) {
		return errCut
	}
	return nil
}

func (m *machine) take(ctx context.Context, number, expiry int64) (bool, error) {
	if err := m.way(); err != nil {
		return false, err
	}
	ok, err := m.simulated.take(ctx, number, expiry)
	return ok, errors.Join(err, m.way())
}

func (m *machine) move(ctx context.Context, number, expiry int64, ours []int64) (sight, bool, error) {
	sent := time.Now()
	if err := m.way(); err != nil {
		return sight{}, false, err
	}
	if m.odds(2) { // it is on its way for long, and no call waits for it
		time.AfterFunc(time.Duration(m.draw(8000))*time.Millisecond, func() {
			_, _, _ = m.simulated.move(context.Background(), number, expiry, ours)
		})
		return sight{}, false, errCut
	}
	s, ok, err := m.simulated.move(ctx, number, expiry, ours)
	s.sent = sent
	return s, ok, errors.Join(err, m.way())
}

func (m *machine) readKeys(ctx context.Context, numbers []int64) ([]sight, error) {
	sent := time.Now()
	out, err := m.simulated.readKeys(ctx, numbers)
	for i := range out {
		out[i].sent = sent
	}
	return out, errors.Join(err, m.way())
}

// fleetIDs collects the IDs of a fleet.
type fleetIDs struct {
	mu     sync.Mutex
	seen   map[snowfence.ID]int
	twice  int
	closed int
}

func (f *fleetIDs) add(id snowfence.ID, who int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.seen[id]; ok {
		f.twice++
	}
	f.seen[id] = who
}

// TestFleet runs processes of ours with wrong clocks, leads, crashes,
// pauses and lost messages, on fewer numbers than there are processes. No
// ID comes twice.
func TestFleet(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) { simulateFleet(t, seed) })
	}
}

func simulateFleet(t *testing.T, seed uint64) {
	const machines, numbers = 6, 5
	s, ids := newSimulated(), &fleetIDs{seen: map[snowfence.ID]int{}}
	l := snowfence.Default()
	l.Epoch, l.Tick = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), 20*time.Millisecond
	sc := must(snowfence.NewScheme(l))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i := range machines {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			for ctx.Err() == nil {
				m := &machine{simulated: s, rand: rand.New(rand.NewPCG(seed, rnd.Uint64()))}
				runMachine(ctx, t, m, rnd, sc, numbers, ids, i)
			}
		})
	}
	all.Wait()
	time.Sleep(time.Minute)
	if ids.twice > 0 || len(ids.seen) < 20_000 || ids.closed < 10 {
		t.Errorf("seed %d: %d IDs, %d of them twice, %d numbers given back", seed, len(ids.seen), ids.twice, ids.closed)
	}
}

func runMachine(ctx context.Context, t *testing.T, m *machine, rnd *rand.Rand, sc *snowfence.Scheme, numbers int64,
	ids *fleetIDs, who int,
) {
	r, err := newRegistrar(m, &Options{
		Min: 1, Max: numbers, TTL: time.Duration(3+rnd.IntN(6)) * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Error(err)
		return
	}
	f, err := r.Fence(ctx, sc)
	if err != nil {
		pause(ctx, time.Second)
		return
	}
	skew, start := time.Duration(rnd.IntN(6000)-3000)*time.Millisecond, time.Now()
	g, err := snowfence.New(snowfence.Config{
		Fence: f, Lead: []int64{0, 5, 200}[rnd.IntN(3)], MaxWait: 4 * time.Second,
		Time: func() (time.Time, time.Duration) { return time.Now().Add(skew), time.Since(start) },
	})
	if err != nil {
		_ = f.Close()
		return
	}
	end := time.Now().Add(time.Duration(rnd.IntN(30)) * time.Second)
	for time.Now().Before(end) {
		for range 1 + rnd.IntN(3) {
			if id, err := g.TryNext(); err == nil {
				ids.add(id, who)
			}
		}
		time.Sleep(time.Duration(1+rnd.IntN(20)) * time.Millisecond)
		if rnd.IntN(1000) == 0 { // the network is gone for a while; or the process is, and wakes
			m.cut.Store(true)
			away := time.Duration(rnd.IntN(12)) * time.Second
			if rnd.IntN(2) == 0 {
				time.Sleep(away)
				m.cut.Store(false)
			} else {
				time.AfterFunc(away, func() { m.cut.Store(false) })
			}
		}
	}
	if rnd.IntN(3) == 0 { // a crash
		m.cut.Store(true)
		_ = r.UnRegister()
		return
	}
	if g.Close() == nil {
		ids.mu.Lock()
		ids.closed++
		ids.mu.Unlock()
	}
	_ = f.Close()
}
