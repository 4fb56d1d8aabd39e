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
)

// holders is a store with one holder for each node: grants of a node never overlap.
type holders struct {
	scheme *snowfence.Scheme
	clk    *clock

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

func (f *held) Scheme() *snowfence.Scheme { return f.store.scheme }

func (f *held) Bind(seal func() int64) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seal = seal
	return func() {}, nil
}

// take returns a grant of a few ticks from now on, and pushes out who has the node.
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

// Fences and bare numbers come and go in many goroutines, and fences push each other
// out, while the clock steps back and forth. No number comes twice.
func TestStormOfFences(t *testing.T) {
	r, clk := newRegistry(), newClock()
	s := &holders{scheme: scheme(t, bwmarrin), clk: clk, floor: map[int64]int64{}, has: map[int64]*held{}}
	var all seen
	var overlaps atomic.Int64
	var stop atomic.Bool
	var others, users sync.WaitGroup
	others.Go(func() {
		for i := 0; !stop.Load(); i++ {
			switch i % 7 {
			case 0:
				clk.step(-20 * time.Millisecond)
			case 1:
				clk.step(15 * time.Millisecond)
			}
			clk.advance(time.Millisecond)
			time.Sleep(50 * time.Microsecond)
		}
	})
	rounds := 400
	if testing.Short() {
		rounds = 100
	}
	for g := range 8 {
		users.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 11))
			for range rounds {
				o := Options{Replace: rnd.IntN(4) == 0, Lead: rnd.Int64N(5), Time: clk.now}
				node := rnd.Int64N(3)
				var h *Handle
				var err error
				if g%2 == 0 {
					h, err = r.on(&held{store: s, node: node}, o)
				} else {
					h, err = r.open(s.scheme, node, o)
				}
				if errors.Is(err, ErrOverlap) {
					overlaps.Add(1)
					continue
				} else if err != nil {
					continue // pushed out at once, or the clock is behind
				}
				runtime.Gosched() // the others find it open, also on one processor
				for range rnd.IntN(30) {
					if id, err := h.TryNext(); err == nil {
						all.add(t, id)
					}
				}
				_ = h.Close()
			}
		})
	}
	users.Wait()
	stop.Store(true)
	others.Wait()
	if overlaps.Load() == 0 || len(all.ids) == 0 {
		t.Errorf("%d refused, %d IDs", overlaps.Load(), len(all.ids))
	}
}
