package process

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// Ten goroutines open, replace, close and lose handles of layouts that overlap, while the clock
// steps back and forth and the garbage collector runs. No number comes twice.
func TestStorm(t *testing.T) {
	clk := newClock()
	t.Run("a clock that steps", func(t *testing.T) { storm(t, clk, clk.now) })
	t.Run("the system's clock", func(t *testing.T) { storm(t, clk, nil) })
}

func storm(t *testing.T, clk *clock, source snowfence.TimeSource) {
	r := newRegistry()
	specs := []string{
		"time=41,node=10,seq=12", "time=41,node=10,seq=12,first=5", "time=41,node=9,seq=13",
		"time=41,zone=5,rack=5,seq=12", "time=41,seq=12,node=10", "time=41,node=22",
	}
	var schemes []*snowfence.Scheme
	for _, spec := range specs {
		schemes = append(schemes, scheme(t, spec))
	}
	rounds := 400
	if testing.Short() {
		rounds = 100
	}
	var s seen
	var stop atomic.Bool
	var others, users sync.WaitGroup
	others.Go(func() {
		for i := 0; !stop.Load(); i++ {
			switch i % 7 {
			case 0:
				clk.step(-20 * time.Millisecond)
			case 1:
				clk.step(15 * time.Millisecond)
			case 2:
				runtime.GC()
			}
			clk.advance(time.Millisecond)
			time.Sleep(50 * time.Microsecond)
		}
	})
	for g := range 10 {
		users.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 7))
			for range rounds {
				o := Options{Replace: rnd.IntN(4) == 0, Lead: rnd.Int64N(5), Time: source}
				h, err := r.open(schemes[rnd.IntN(len(schemes))], rnd.Int64N(3), o)
				if errors.Is(err, ErrOverlap) {
					continue
				} else if err != nil {
					t.Error(err)
					return
				}
				for range rnd.IntN(30) {
					if id, err := h.TryNext(); err == nil {
						s.add(t, id)
					}
				}
				if rnd.IntN(2) == 0 {
					_ = h.Close()
				}
			}
		})
	}
	users.Wait()
	stop.Store(true)
	others.Wait()
	if len(s.ids) == 0 {
		t.Error("no ID was made")
	}
}
