package process

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

// Ten goroutines open, replace, close and lose handles of layouts that
// overlap, over bare numbers and fences that push each other out, while the
// clock steps back and forth and the garbage collector runs. No number
// comes twice.
func TestStorm(t *testing.T) {
	clk := newClock()
	t.Run("a clock that steps", func(t *testing.T) { storm(t, clk, clk.Now) })
	t.Run("the system's clock", func(t *testing.T) { storm(t, clk, nil) })
}

func storm(t *testing.T, clk *tests.Clock, source snowfence.TimeSource) {
	r := newSet()
	specs := []string{
		"time=41,node=10,seq=12", "time=41,node=10,seq=12,first=5", "time=41,node=9,seq=13",
		"time=41,zone=5,rack=5,seq=12", "time=41,seq=12,node=10", "time=41,node=22",
	}
	var schemes []*snowfence.Scheme
	for _, spec := range specs {
		schemes = append(schemes, scheme(spec))
	}
	rounds := 400
	if testing.Short() {
		rounds = 100
	}
	store := &holders{scheme: schemes[0], floor: map[int64]int64{}, has: map[int64]*held{}}
	var s seen
	var overlaps, over atomic.Int64 // refused, and IDs over a fence
	var stop atomic.Bool
	var others, users sync.WaitGroup
	others.Go(func() {
		for i := 0; !stop.Load(); i++ {
			switch i % 7 {
			case 0:
				clk.Step(-20 * time.Millisecond)
			case 1:
				clk.Step(15 * time.Millisecond)
			case 2:
				runtime.GC()
			case 3: // those who push each other out take ticks faster than time passes
				now, _ := clk.Now()
				clk.Step(max(0, store.top().Sub(now)))
			}
			clk.Advance(time.Millisecond)
			time.Sleep(50 * time.Microsecond)
		}
	})
	for g := range 10 {
		users.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 7))
			fenced := g%3 == 0
			// Those over fences go on until one made an ID: the clock may
			// be behind for long.
			for n := 0; n < rounds || fenced && source != nil && over.Load() == 0 && n < 1000*rounds; n++ {
				o := Options{Replace: rnd.IntN(4) == 0, Lead: rnd.Int64N(5), Time: source}
				h, err := (*Handle)(nil), error(nil)
				if fenced {
					h, err = r.on(&held{store: store, node: rnd.Int64N(8)}, o)
				} else {
					h, err = r.open(schemes[rnd.IntN(len(schemes))], rnd.Int64N(3), o)
				}
				switch {
				case errors.Is(err, ErrOverlap):
					overlaps.Add(1)
					continue
				case fenced && err != nil: // pushed out at once, or the clock is behind
					continue
				case err != nil:
					t.Error(err)
					return
				}
				runtime.Gosched() // the others find it open, also on one processor
				for range rnd.IntN(30) {
					if id, err := h.TryNext(); err == nil {
						s.add(t, id)
						if fenced {
							over.Add(1)
						}
					}
				}
				if fenced || rnd.IntN(2) == 0 {
					_ = h.Close()
				}
			}
		})
	}
	users.Wait()
	stop.Store(true)
	others.Wait()
	if overlaps.Load() == 0 || source != nil && over.Load() == 0 || len(s.ids) == 0 {
		t.Errorf("%d refused, %d IDs, %d of them over fences", overlaps.Load(), len(s.ids), over.Load())
	}
}

// holders is a store with one holder for each node: grants of a node never
// overlap.
type holders struct {
	scheme *snowfence.Scheme

	mu    sync.Mutex
	floor map[int64]int64 // by node: above all ticks that were granted and not given back unused
	has   map[int64]*held
}

// held is the fence of a holder, which another one may push out.
type held struct {
	store *holders
	node  int64

	mu   sync.Mutex
	seal func() int64
	cur  snowfence.Grant
}

// top is the time of the highest floor.
func (s *holders) top() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	top := int64(0)
	for _, tick := range s.floor {
		top = max(top, tick)
	}
	return s.scheme.Layout().TimeOf(top)
}

func (f *held) Scheme() *snowfence.Scheme { return f.store.scheme }

func (f *held) Bind(seal func() int64) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seal = seal
	return func() {}, nil
}

// take returns a grant of a few ticks from now on, and pushes out the
// holder of the node.
func (f *held) take(after int64) snowfence.Grant {
	s := f.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has[f.node] != f {
		if old := s.has[f.node]; old != nil {
			go old.pushed()
		}
		s.has[f.node], f.cur = f, snowfence.Grant{Node: f.node, From: s.floor[f.node]}
	}
	if f.cur.Until <= after {
		f.cur.Until = after + 1 + 20
		s.floor[f.node] = max(s.floor[f.node], f.cur.Until)
	}
	return f.cur
}

func (f *held) pushed() {
	f.mu.Lock()
	seal := f.seal
	f.mu.Unlock()
	seal()
}

func (f *held) Grant(_ context.Context, after int64) (snowfence.Grant, error) {
	return f.take(after), nil
}

func (f *held) Held(int64) (snowfence.Grant, bool) { return snowfence.Grant{}, false }

func (f *held) Release(_ context.Context, gr snowfence.Grant, used int64) error {
	s := f.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has[f.node] == f && f.cur.From == gr.From {
		delete(s.has, f.node)
		s.floor[f.node] = max(used, gr.From)
	}
	return nil
}
