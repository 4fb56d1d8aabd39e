package snowfence

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/internal/draw"
	"github.com/snowfence/snowfence/internal/tests"
)

// wide is a layout whose sequence is never used up, so that no call waits.
const wide = "time=40,node=2,seq=21"

// ways are the ways to take IDs of a generator; each makes n for one
// goroutine, in the order in which it got them.
var ways = []struct {
	name   string
	coarse bool
	take   func(g *Generator, n int) ([]ID, error)
}{
	{"Next", false, takeNext},
	{"NextCoarse", true, takeNext},
	{"Fill", false, takeFill},
	{"Local", false, takeLocal},
	{"LocalCoarse", true, takeLocal},
}

func takeNext(g *Generator, n int) ([]ID, error) {
	ids := make([]ID, n)
	for i := range ids {
		id, err := g.Next(context.Background())
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

func takeFill(g *Generator, n int) ([]ID, error) {
	ids := make([]ID, n)
	for i := 0; i < n; i += 100 {
		if _, err := g.Fill(context.Background(), ids[i:min(i+100, n)]); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func takeLocal(g *Generator, n int) ([]ID, error) {
	l := g.Local()
	ids := make([]ID, n)
	for i := range ids {
		id, err := l.Next(context.Background())
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

// The same with a narrow sequence and a lead, where every tick overflows,
// while the grant is renewed, lost and replaced all the time.
func TestManyGoroutinesWhileGrantsChange(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 50
	}
	for i, w := range slices.Concat(ways, ways) {
		spec := []string{"time=41,node=4,seq=6", "scatter=2,time=41,node=4,seq=4"}[i/len(ways)]
		t.Run(w.name+" "+spec, func(t *testing.T) {
			s := testScheme(spec + ",epoch=2020-01-01,tick=100us")
			now := func() int64 { return s.Layout().TickOf(time.Now()) }
			first := now() - 10
			f := newScript(s, Grant{Node: 1, From: first, Until: first + 1_000_000}) // more than New ever takes
			g := newGenerator(t, Config{Fence: f, Coarse: w.coarse, Lead: 3, MaxWait: time.Minute})
			done := make(chan struct{})
			var changes sync.WaitGroup
			changes.Go(func() {
				defer close(done)
				node, from := int64(1), first
				// On a busy machine many a grant runs out before anybody
				// gets a processor to use it.
				end := time.Now().Add(time.Minute)
				for i := 0; i < rounds || len(f.grants()) < rounds/8 && time.Now().Before(end); i++ {
					time.Sleep(3 * time.Millisecond)
					switch i % 4 {
					case 3: // lost: another node, after the longest any clock can have run ahead
						f.set(Grant{}, nil)
						used := f.seal()
						node, from = (node+1)%16, max(used, now()-20)
						fallthrough
					default:
						f.set(Grant{Node: node, From: from, Until: now() + 200}, nil)
					}
				}
				f.set(Grant{Node: node, From: from, Until: s.MaxTick()}, nil)
			})
			var mu sync.Mutex
			var all []ID
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for {
						ids, err := w.take(g, 500)
						if err != nil {
							t.Error(err)
							return
						}
						checkRising(t, s, ids)
						mu.Lock()
						all = append(all, ids...)
						mu.Unlock()
						select {
						case <-done:
							return
						default:
						}
					}
				})
			}
			wg.Wait()
			changes.Wait()
			checkUnique(t, all)
			checkInside(t, s, all, f.grants())
			if len(f.grants()) < rounds/8 {
				t.Errorf("only %d grants were used", len(f.grants()))
			}
		})
	}
}

// Two generators that have one node after the other, each closed while
// goroutines use it: nothing at or above used comes out of the first.
func TestCloseUnderLoad(t *testing.T) {
	for _, w := range ways {
		s := testScheme("time=41,node=4,seq=10,epoch=2020-01-01")
		fence := Unguarded(s, 3)
		var mu sync.Mutex
		var all []ID
		for range 20 {
			g := must(New(Config{Fence: fence, Coarse: w.coarse, Lead: 5, MaxWait: time.Minute}))
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					var mine []ID
					for {
						ids, err := w.take(g, 1)
						if err != nil {
							break
						}
						mine = append(mine, ids...)
					}
					mu.Lock()
					all = append(all, mine...)
					mu.Unlock()
				})
			}
			time.Sleep(2 * time.Millisecond)
			noError(t, g.Close())
			// The successor starts while calls of the first may still be
			// running.
			next := must(New(Config{Fence: fence, Coarse: w.coarse, Lead: 5, MaxWait: time.Minute}))
			ids := must(w.take(next, 50))
			next.Close()
			wg.Wait()
			all = append(all, ids...)
		}
		checkUnique(t, all)
	}
}

// The coarse mode is exact after a pause, and close behind while IDs are
// made.
func TestCoarseIsExactAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testScheme(bubbleSpec)
		g := newGenerator(t, Config{Fence: Unguarded(s, 7), Coarse: true})
		defer g.Close()
		l := g.Local()
		var ids []ID
		for i := range 100 {
			time.Sleep(time.Duration(i) * 333 * time.Microsecond)
			id := must(g.Next(t.Context()))
			if i%2 == 0 {
				id = must(l.Next(t.Context()))
			}
			ids = append(ids, id)
			p, _ := s.Decode(id)
			late := time.Since(p.Time)
			if limit := 3 * time.Millisecond; late < 0 || late > limit || i > 12 && late > time.Millisecond {
				t.Errorf("ID %d after a pause of %v is %v late", i, time.Duration(i)*333*time.Microsecond, late)
			}
		}
		checkUnique(t, ids)
		time.Sleep(5 * time.Millisecond)
		if g.ticking.Load() {
			t.Error("the ticker runs on while nothing is made")
		}
	})
}

func TestHandlesEndWithTheirGenerator(t *testing.T) {
	for _, coarse := range []bool{false, true} {
		g := must(New(Config{
			Fence: Unguarded(testScheme("time=30,node=5,seq=20,tick=1h,epoch=2020-01-01"), 0), Coarse: coarse,
		}))
		l := g.Local()
		for range 3000 {
			must(l.Next(t.Context()))
		}
		g.Close()
		if id, err := l.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("coarse %v: %d, %v after Close", coarse, id, err)
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	s := testScheme(wide)
	for _, coarse := range []bool{false, true} {
		g := newGenerator(t, Config{Fence: Unguarded(s, 1), Coarse: coarse})
		l := g.Local()
		dst := make([]ID, 1024)
		ctx := t.Context()
		take(t, g, 100)
		for name, f := range map[string]func(){
			"Next":    func() { must(g.Next(ctx)) },
			"TryNext": func() { must(g.TryNext()) },
			"Fill":    func() { must(g.Fill(ctx, dst)) },
			"Local":   func() { must(l.Next(ctx)) },
		} {
			// The clock's new anchor each 10 ms is the one allocation there
			// is.
			if n := testing.AllocsPerRun(10000, f); n > 0.01 {
				t.Errorf("%s, coarse %v: %v allocations", name, coarse, n)
			}
		}
	}
}

// reference is the slow reference for a generator: the textbook algorithm
// with a tick and a sequence number in two variables, one goroutine, no
// positions, no word. It reads the clock as it is, steps back included.
type reference struct {
	s         *Scheme
	node      int64
	lead      int64
	tick, seq int64 // of the next ID, unless the clock is further
	spread    spreader
}

func (o *reference) next(now int64) (ID, bool) {
	l := o.s.Layout()
	if now > o.tick || now == o.tick && o.seq == l.First {
		o.tick, o.seq = now, l.First
		if o.spread.size > 0 {
			o.seq += int64(o.spread.slotOf(now))
		}
	}
	if o.seq > l.Last {
		o.tick, o.seq = o.tick+1, l.First
	}
	if o.tick > now+o.lead {
		return 0, false
	}
	id := must(o.s.Compose(Parts{Tick: o.tick, Node: o.node, Sequence: o.seq}))
	o.seq++
	return id, true
}

// The settings other libraries have, as theirs: classic Snowflake and
// Sonyflake wait, snow-drift runs ahead by up to 2000 ticks.
func TestOracle(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		lead       int64
	}{
		{"classic", "twitter", 0},
		{"sonyflake", "sonyflake", 0},
		{"sonyflake-v2", "sonyflake-v2", 0},
		{"drift", "drift", 2000},
		{"drift-tiny", "time=40,node=2,seq=3,first=5", 4},
		{"one-per-tick", "time=40,node=2", 1},
		{"odd-span", "time=40,seq=5,node=3,first=3,last=13", 7},
		{"discord", "discord", 1},
		{"seconds", "baidu", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			draw.Check(t, func(t *draw.T) {
				s := must(NewScheme(must(ParseLayout(c.spec))))
				clock := newFakeClock()
				if c.name == "seconds" {
					clock.Wall = clock.Wall.AddDate(-6, 0, 0) // its time ended in 2024
				}
				node := t.Range(0, s.Nodes()-1)
				g := must(New(Config{Fence: Unguarded(s, node), Lead: c.lead, Time: clock.Now}))
				defer g.Close()
				// the wall clock with its steps, as the oracle sees it
				g.clock.Raw = true
				ref := &reference{s: s, node: node, lead: c.lead}
				l := s.Layout()
				for range t.Int(1, 30) {
					move := time.Duration(t.Range(-2, 8)) * l.Tick / 2
					if t.Int(0, 9) == 0 {
						move *= 3000
					}
					clock.Step(move)
					now := l.TickOf(clock.Wall)
					for i := range t.Int(0, int(2*(l.Last-l.First+1))) {
						want, ok := ref.next(now)
						var got ID
						var err error
						if i%3 == 0 { // all ways to take one must agree
							one := make([]ID, 1)
							_, err = fillNow(g, one)
							got = one[0]
						} else {
							got, err = g.TryNext()
						}
						if (err == nil) != ok || got != want {
							t.Fatalf("%s, tick %d: got %d, %v; the reference says %d, %v",
								c.spec, now, got, err, want, ok)
						}
						if !ok {
							if !errors.Is(err, ErrExhausted) {
								t.Fatalf("refused with %v, not with ErrExhausted", err)
							}
							break
						}
					}
				}
			})
		})
	}
}

func must[T any](v T, err error) T { return tests.Must(v, err) }

// fillNow is Fill without waiting.
func fillNow(g *Generator, dst []ID) (int, error) {
	t, pos, count, err := g.reservePositions(context.Background(), uint64(len(dst)), -1)
	if err != nil {
		return 0, err
	}
	return t.write(dst, pos, count), nil
}
