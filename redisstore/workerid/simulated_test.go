package workerid

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// simulated is a Redis server in memory, whose clock is the test's and an
// offset.
type simulated struct {
	mu      sync.Mutex
	keys    map[int64]int64 // number → when its key expires; −1: never
	counter *int64          // Index
	offset  time.Duration
	before  func(op string, number int64) error // may wait; with an error nothing is done
	after   func(op string, number int64) error // with an error the answer is lost
}

func newSimulated() *simulated { return &simulated{keys: map[int64]int64{}} }

func (s *simulated) now() int64 { return time.Now().Add(s.offset).UnixMilli() }

// run does something on the server.
func (s *simulated) run(ctx context.Context, op string, number int64, do func()) error {
	s.mu.Lock()
	before, after := s.before, s.after
	s.mu.Unlock()
	if before != nil {
		if err := before(op, number); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	for n, at := range s.keys {
		if at >= 0 && s.now() > at {
			delete(s.keys, n)
		}
	}
	do()
	s.mu.Unlock()
	if after != nil {
		return after(op, number)
	}
	return nil
}

func (s *simulated) sight(number int64, sent time.Time) sight {
	at, ok := s.keys[number]
	if !ok {
		at = gone
	}
	return sight{now: s.now(), sent: sent, expiry: at}
}

func (s *simulated) readKeys(ctx context.Context, numbers []int64) (out []sight, err error) {
	sent := time.Now()
	err = s.run(ctx, "look", -1, func() {
		for _, n := range numbers {
			out = append(out, s.sight(n, sent))
		}
	})
	return out, err
}

func (s *simulated) take(ctx context.Context, number, expiry int64) (ok bool, err error) {
	err = s.run(ctx, "take", number, func() {
		if _, there := s.keys[number]; !there {
			s.keys[number], ok = expiry, true
		}
	})
	return ok && err == nil, err
}

func (s *simulated) move(ctx context.Context, number, expiry int64, ours []int64) (seen sight, ok bool, err error) {
	sent := time.Now()
	err = s.run(ctx, "move", number, func() {
		seen = s.sight(number, sent)
		for _, at := range ours {
			if at == seen.expiry && !ok {
				s.keys[number], ok = expiry, true
			}
		}
		if ok && expiry <= s.now() {
			delete(s.keys, number)
		}
	})
	return seen, ok && err == nil, err
}

func (s *simulated) index(ctx context.Context) (n int64, ok bool, err error) {
	err = s.run(ctx, "index", -1, func() {
		if s.counter != nil {
			n, ok = *s.counter, true
		}
	})
	return n, ok, err
}

// set is what the original does with a number that it read as free, and
// expire its renewal.
func (s *simulated) set(number int64, ttl time.Duration) {
	_ = s.run(context.Background(), "", number, func() { s.keys[number] = s.now() + ttl.Milliseconds() })
}

func (s *simulated) expire(number int64, ttl time.Duration) {
	_ = s.run(context.Background(), "", number, func() {
		if _, ok := s.keys[number]; ok {
			s.keys[number] = s.now() + ttl.Milliseconds()
		}
	})
}

func (s *simulated) persist(number int64) {
	_ = s.run(context.Background(), "", number, func() { s.keys[number] = -1 })
}

func (s *simulated) del(number int64) {
	_ = s.run(context.Background(), "", number, func() { delete(s.keys, number) })
}

// expiry returns when the key expires, and 0 if there is none.
func (s *simulated) expiry(number int64) (at int64) {
	_ = s.run(context.Background(), "", number, func() { at = s.keys[number] })
	return at
}

// count sets the index of the original.
func (s *simulated) count(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counter = &n
}

// taken counts the keys.
func (s *simulated) taken() (n int) {
	_ = s.run(context.Background(), "", -1, func() { n = len(s.keys) })
	return n
}

// hook sets what happens around commands.
func (s *simulated) hook(before, after func(op string, number int64) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.after = before, after
}

var errCut = errors.New("the connection is cut")

func (s *simulated) cut() {
	s.hook(func(op string, _ int64) error {
		if op == "" {
			return nil // what a test does to the data
		}
		time.Sleep(time.Millisecond)
		return errCut
	}, nil)
}

func registrar(t *testing.T, s server, o Options) *Registrar {
	t.Helper()
	if o.TTL == 0 {
		o.TTL = 15 * time.Second
	}
	if o.Max == 0 {
		o.Max = 63
	}
	return must(newRegistrar(s, &o))
}

// scheme has an epoch before the year 2000, where simulated clocks begin.
func scheme() *snowfence.Scheme {
	l := snowfence.Default()
	l.Epoch = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	return must(snowfence.NewScheme(l))
}

func one(t *testing.T, r *Registrar) *Worker {
	t.Helper()
	return must(r.RegisterOne(t.Context()))
}

func fence(t *testing.T, r *Registrar) *Fence {
	t.Helper()
	return must(r.Fence(t.Context(), scheme()))
}

// generator makes IDs with a number. Its clock differs by skew.
func generator(t *testing.T, f *Fence, c snowfence.Config, skew time.Duration) *snowfence.Generator {
	t.Helper()
	start := time.Now()
	c.Fence = f
	c.Time = func() (time.Time, time.Duration) { return time.Now().Add(skew), time.Since(start) }
	return must(snowfence.New(c))
}

func works(t *testing.T, g *snowfence.Generator) snowfence.ID {
	t.Helper()
	return must(g.Next(t.Context()))
}

func fails(t *testing.T, g *snowfence.Generator, want error) {
	t.Helper()
	if id, err := g.TryNext(); !errors.Is(err, want) {
		t.Fatalf("got ID %d, %v; want %v", id, err, want)
	}
}

// worker returns the number that a fence has now.
func worker(t *testing.T, f *Fence) *Worker {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.w == nil {
		t.Fatal("the fence has no number")
	}
	return f.w
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
