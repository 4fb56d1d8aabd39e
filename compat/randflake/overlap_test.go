package randflake

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
)

// bare returns a generator of a bare number, or why there is none.
func bare(t testing.TB, node int64, more ...any) (*Generator, error) {
	t.Helper()
	return NewGenerator(node, noon-3600, noon+9*3600, secretOf(t, more...))
}

func must(t testing.TB) func(*Generator, error) *Generator {
	return func(g *Generator, err error) *Generator {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
}

func closes(t testing.TB, g *Generator) {
	t.Helper()
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
}

// seen has the IDs of a test.
type seen struct{ ids sync.Map }

func (s *seen) add(t testing.TB, g *Generator) int64 {
	t.Helper()
	id, err := g.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if _, twice := s.ids.LoadOrStore(id, true); twice {
		t.Fatalf("%d twice", id)
	}
	second, _, _, _ := g.Inspect(id)
	return second
}

// above checks that g makes nothing in the present second, but in the next.
func (s *seen) above(t testing.TB, g *Generator) {
	t.Helper()
	if id, err := g.Generate(); err == nil {
		t.Errorf("%d in a second that was used", id)
	}
	time.Sleep(time.Second)
	if second := s.add(t, g); second != time.Now().Unix() {
		t.Errorf("an ID of %d s after noon at %v", second-noon, time.Now())
	}
}

// fences are numbers with and without an end.
var fences = map[string]func(t testing.TB, node int64) snowfence.Fence{
	"static": func(t testing.TB, node int64) snowfence.Fence { return snowfence.Unguarded(schemeOf(t), node) },
	"leased": func(t testing.TB, node int64) snowfence.Fence {
		return grantsOf(t, &snowfence.Grant{Node: node, From: tickAtNoon, Until: tickAtNoon + 3600})
	},
}

// A bare number beside a fence that has it made the same IDs.
func TestBareNumberBesideAFence(t *testing.T) {
	for name, fence := range fences {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				noonOn(t)
				var s seen
				g := must(t)(NewOn(fence(t, 7)))
				s.add(t, g)
				if other, err := bare(t, 7); !errors.Is(err, ErrOverlap) {
					for range 3 {
						s.add(t, g)
						s.add(t, other)
					}
					t.Fatal(err)
				}
				s.add(t, must(t)(bare(t, 8)))
				must(t)(bare(t, 7, "another secret"))
				s.add(t, g) // it goes on
				closes(t, g)
				s.above(t, must(t)(bare(t, 7)))
			})
		})
	}
}

// Nor does a fence use a number that is in use. One that was in use begins above.
func TestFenceBesideABareNumber(t *testing.T) {
	for name, fence := range fences {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				noonOn(t)
				var s seen
				one, two := must(t)(bare(t, 7)), must(t)(bare(t, 7))
				for range 9 {
					s.add(t, one) // it has more at hand
				}
				for range 3 {
					if _, err := NewOn(fence(t, 7)); !errors.Is(err, ErrOverlap) {
						t.Fatal(err)
					}
					s.add(t, two) // it goes on
					closes(t, one)
				}
				closes(t, two)
				g := must(t)(NewOn(fence(t, 7)))
				s.above(t, g)
				refuses(t, one, snowfence.ErrClosed)
				closes(t, one) // once more: the fence has the number
				if _, err := bare(t, 7); !errors.Is(err, ErrOverlap) {
					t.Error(err)
				}
				closes(t, g)
			})
		})
	}
}

// A fence grants a number that is in use, in place of another: nobody makes its IDs over
// the fence until the bare number is closed. The number before is free.
func TestLaterGrantOverABareNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		var s seen
		f := grantsOf(t, &snowfence.Grant{Node: 7, From: tickAtNoon, Until: tickAtNoon + 3600})
		g := must(t)(NewOn(f))
		s.add(t, g)
		nine := must(t)(bare(t, 9))
		f.grant.Store(&snowfence.Grant{Node: 9, From: tickAtNoon, Until: tickAtNoon + 7200})
		time.Sleep(3600 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := g.GenerateContext(ctx); !errors.Is(err, ErrInvalidLease) {
			t.Error(err)
		}
		refuses(t, g, ErrInvalidLease)
		if info := g.GetLeaseInfo(); info != (LeaseInfo{}) {
			t.Errorf("%+v", info)
		}
		s.add(t, must(t)(bare(t, 7)))
		s.add(t, nine)
		closes(t, nine)
		id, err := g.GenerateContext(t.Context())
		if _, twice := s.ids.LoadOrStore(id, true); err != nil || twice || g.GetLeaseInfo().NodeID != 9 {
			t.Errorf("%d, %v, twice: %v, %+v", id, err, twice, g.GetLeaseInfo())
		}
		if _, err := bare(t, 9); !errors.Is(err, ErrOverlap) {
			t.Error(err)
		}
		closes(t, g)
	})
}

// A grant of which nothing was used raises nothing, though it began far ahead, and lowers
// nothing.
func TestUnusedGrantMovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		var s seen
		for range 3 {
			one := must(t)(bare(t, 7))
			s.add(t, one)
			closes(t, one)
			ahead := snowfence.Grant{Node: 7, From: tickAtNoon + 50, Until: tickAtNoon + 60}
			g := must(t)(NewOn(grantsOf(t, &ahead)))
			refuses(t, g, ErrConsistencyViolation)
			closes(t, g)
		}
	})
}

// What a TimeSource ran ahead stays used, and a grant below it is of no use.
func TestFenceBelowWhatWasUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		ahead := must(t)(bare(t, 7))
		ahead.TimeSource = func() int64 { return noon + 20 }
		generate(t, ahead)
		closes(t, ahead)
		const until = tickAtNoon + 21
		if _, err := NewOn(grantsOf(t, &snowfence.Grant{Node: 7, From: tickAtNoon, Until: until})); err == nil {
			t.Error("a grant of seconds that were used")
		}
		other := must(t)(bare(t, 7)) // the number is nobody's
		closes(t, other)
		g := must(t)(NewOn(grantsOf(t, &snowfence.Grant{Node: 7, From: tickAtNoon, Until: until + 1})))
		if info := g.GetLeaseInfo(); info != (LeaseInfo{7, noon + 21, noon + 21}) {
			t.Errorf("%+v", info)
		}
		closes(t, g)
	})
}

// Two fences of one namespace share a node where each has a slice of its sequence.
func TestBareNumberBesideTwoFences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		var s seen
		slice := func(first, last int64) *Generator {
			return must(t)(NewOn(grantsOf(t, &snowfence.Grant{
				Node: 7, From: tickAtNoon, Until: tickAtNoon + 60, FirstSeq: first, LastSeq: last,
			})))
		}
		low, high := slice(0, 99), slice(100, 199)
		s.add(t, low)
		s.add(t, high)
		closes(t, low)
		if _, err := bare(t, 7); !errors.Is(err, ErrOverlap) {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		s.add(t, high)
		closes(t, high)
		s.above(t, must(t)(bare(t, 7)))
	})
}

// Each node of a block is a number that the fence has, and a block that is refused has none.
func TestBareNumberInABlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		block := snowfence.Grant{Node: 7, Nodes: 3, From: tickAtNoon, Until: tickAtNoon + 60}
		last := must(t)(bare(t, 9))
		if _, err := NewOn(grantsOf(t, &block)); !errors.Is(err, ErrOverlap) {
			t.Fatal(err)
		}
		first := must(t)(bare(t, 7)) // nobody has it
		generate(t, first)
		closes(t, first)
		closes(t, last)
		g := must(t)(NewOn(grantsOf(t, &block)))
		if start := g.GetLeaseInfo().LeaseStart; start != noon+1 {
			t.Errorf("it begins %d s after noon, of which node 7 used some", start-noon)
		}
		for node := int64(6); node <= 10; node++ {
			if _, err := bare(t, node); errors.Is(err, ErrOverlap) != (node >= 7 && node <= 9) {
				t.Errorf("node %d: %v", node, err)
			}
		}
		closes(t, g)
		for node := int64(7); node <= 9; node++ {
			must(t)(bare(t, node))
		}
	})
}

// Two fences without an end are two bare numbers.
func TestTwoFencesOfOneNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		var s seen
		g := must(t)(NewOn(fences["static"](t, 7)))
		s.add(t, g)
		if _, err := NewOn(fences["static"](t, 7)); !errors.Is(err, ErrOverlap) {
			t.Fatal(err)
		}
		s.add(t, g)
		closes(t, g)
		s.above(t, must(t)(NewOn(fences["static"](t, 7))))
	})
}

// The original has no Close: a generator that the program dropped is not in use.
func TestFenceAfterADroppedGenerator(t *testing.T) {
	g := systemClock(t, 7)
	generate(t, g)
	if _, err := NewOn(fences["static"](t, 7)); !errors.Is(err, ErrOverlap) {
		t.Fatal(err)
	}
	runtime.KeepAlive(g)
	g = nil
	for end := time.Now().Add(20 * time.Second); ; {
		runtime.GC()
		time.Sleep(time.Millisecond)
		g, err := NewOn(fences["static"](t, 7))
		if err == nil {
			closes(t, g)
			return
		} else if !errors.Is(err, ErrOverlap) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// One that was closed counts once, also when it is dropped.
func TestDroppedAfterClose(t *testing.T) {
	g := systemClock(t, 7)
	var gone atomic.Int64
	for range 100 {
		closed := systemClock(t, 7)
		closes(t, closed)
		runtime.AddCleanup(closed, func(n *atomic.Int64) { n.Add(1) }, &gone)
	}
	for gone.Load() < 99 { // the stack may keep the last
		runtime.GC()
	}
	if _, err := NewOn(fences["static"](t, 7)); !errors.Is(err, ErrOverlap) {
		t.Error(err)
	}
	runtime.KeepAlive(g)
}

// Bare numbers and fences come and go in many goroutines, and close while others use them.
// No ID comes twice.
func TestStormOfBareNumbersAndFences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noonOn(t)
		var s seen
		var refused, made atomic.Int64
		var all sync.WaitGroup
		for i := range uint64(6) {
			r := rand.New(rand.NewPCG(i, 5))
			all.Go(func() {
				for range 300 {
					var g *Generator
					var err error
					if r.IntN(3) == 0 {
						g, err = NewOn(fences["static"](t, 7))
					} else {
						g, err = bare(t, 7)
					}
					if errors.Is(err, ErrOverlap) {
						refused.Add(1)
						time.Sleep(time.Millisecond)
						continue
					} else if err != nil {
						t.Error(err)
						return
					}
					use := func(times int) {
						for range times {
							id, err := g.Generate()
							if err != nil {
								time.Sleep(300 * time.Millisecond)
								continue
							}
							made.Add(1)
							if _, twice := s.ids.LoadOrStore(id, true); twice {
								t.Errorf("%d twice", id)
							}
						}
					}
					all.Go(func() { use(10) })
					use(r.IntN(20))
					closes(t, g)
				}
			})
		}
		all.Wait()
		if refused.Load() == 0 || made.Load() == 0 {
			t.Errorf("%d refused, %d IDs", refused.Load(), made.Load())
		}
	})
}
