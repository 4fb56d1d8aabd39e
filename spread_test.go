package snowfence

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/world"
)

// seeded is a fence whose generator draws from one seed.
type seeded struct{ *script }

func (seeded) World() world.World { return seed{world.Real()} }

type seed struct{ world.World }

func (seed) Uint64() uint64 { return 20260504 }

// spreading returns a generator with a spread and a clock of the test's.
func spreading(t testing.TB, spec string, c Config) (*Generator, *fakeClock) {
	t.Helper()
	s, clock := testScheme(spec), newFakeClock()
	now := s.Layout().TickOf(clock.Wall)
	c.Fence = seeded{newScript(s, Grant{Node: 1, From: now, Until: now + 1<<30})}
	c.Time = clock.Now
	return newGenerator(t, c), clock
}

// chiSquare is how far counts are from even ones: about their number for
// random ones.
func chiSquare(counts []int) float64 {
	total := 0
	for _, n := range counts {
		total += n
	}
	even, sum := float64(total)/float64(len(counts)), 0.0
	for _, n := range counts {
		sum += (float64(n) - even) * (float64(n) - even) / even
	}
	return sum
}

// One ID a tick, as quiet nodes make them, falls into all shards alike.
// Without a spread all fall into one of 16, and into 125 of 1,000.
func TestSpreadIsEven(t *testing.T) {
	for _, c := range []struct {
		shards int
		spread int64
		most   float64 // the chi-square of random numbers is higher once in a million
		empty  int
	}{
		{16, 16, 55, 0},
		{16, 4096, 55, 0},
		{1000, 1000, 1220, 0},
		{16, 0, -1, 15},
		{1000, 0, -1, 875},
	} {
		for _, coarse := range []bool{false, true} {
			name := fmt.Sprintf("%d shards, spread %d, coarse %v", c.shards, c.spread, coarse)
			g, clock := spreading(t, "snowfence", Config{Spread: c.spread, Coarse: coarse})
			if coarse {
				g.ticking.Store(true) // no ticker: each call looks at the clock
			}
			counts := make([]int, c.shards)
			for range 32 * c.shards {
				clock.Advance(time.Millisecond)
				if coarse {
					g.cur.Load().closeFastPath()
				}
				counts[uint64(take(t, g, 1)[0])%uint64(c.shards)]++
			}
			empty := 0
			for _, n := range counts {
				if n == 0 {
					empty++
				}
			}
			if empty != c.empty || c.most > 0 && chiSquare(counts) > c.most {
				t.Errorf("%s: %d shards are empty, and chi-square is %.0f", name, empty, chiSquare(counts))
			}
		}
	}
}

// What IDs there are does not depend on how they are taken. The reference
// has a tick and a number in two variables.
func TestSpreadIsThatOfTheReference(t *testing.T) {
	for _, c := range []struct {
		spec   string
		spread int64
		lead   int64
	}{
		{"time=41,node=3,seq=4,epoch=1999-01-01", 16, 0},
		{"time=41,node=3,seq=4,epoch=1999-01-01", 5, 3},
		{"time=41,node=3,seq=4,first=5,last=12,epoch=1999-01-01", 8, 0},
		{"time=41,node=3,seq=1,epoch=1999-01-01", 2, 1},
		{"time=41,node=3,seq=4,epoch=1999-01-01", 1, 0},
	} {
		g, clock := spreading(t, c.spec, Config{Spread: c.spread, Lead: c.lead, MaxWait: -1})
		l := g.Scheme().Layout()
		gr, _ := g.Grant()
		o := &reference{s: g.Scheme(), node: 1, lead: c.lead, tick: gr.From - 1, seq: l.First, spread: g.spread}
		chance := rand.New(rand.NewPCG(7, 7))
		now := gr.From
		for range 5000 {
			step := []int64{0, 0, 1, 1, 2, 9}[chance.IntN(6)]
			clock.Advance(time.Duration(step) * l.Tick)
			now += step
			ids := make([]ID, 1+chance.IntN(2*int(l.Last-l.First+1)))
			n, _ := g.Fill(context.Background(), ids)
			for i := range ids {
				want, ok := o.next(now)
				if ok != (i < n) || ok && ids[i] != want {
					t.Fatalf("%s spread %d: ID %d of %d at tick %d is %d of %d, want %d, %v",
						c.spec, c.spread, i, len(ids), now, ids[i], n, want, ok)
				}
				if !ok {
					break
				}
			}
		}
	}
}

// The ticker begins a tick where the first caller of it would, so that a
// tick is begun once.
func TestTickerBeginsATickOnce(t *testing.T) {
	const span = 4
	g, clock := spreading(t, "time=41,node=3,seq=2,epoch=1999-01-01", Config{Spread: span, Coarse: true, MaxWait: -1})
	g.ticking.Store(true)
	w := newPaced(t)
	w.World, g.world = g.world, w
	tr := g.cur.Load()
	gr, _ := g.Grant()
	begun := map[uint64]bool{}
	rounds := 0
	w.during = func(d time.Duration) int {
		word := tr.word.Load()
		if rounds++; rounds > 1 && rounds < 45 { // then it parks
			wall, _ := clock.Now()
			tick := g.Scheme().Layout().TickOf(wall)
			slot := g.spread.slotOf(tick)
			if want := uint64(tick-gr.From)*span + slot; word != want {
				t.Fatalf("round %d: the word is %d, want %d", rounds, word, want)
			}
			begun[slot] = true
			if take(t, g, span-int(slot)); tr.word.Load() != uint64(tick+1-gr.From)*span {
				t.Fatalf("the tick began at %d, and does not end after %d IDs", slot, span-slot)
			}
		}
		clock.Advance(time.Millisecond)
		return -1
	}
	g.keepTime()
	if len(begun) != span {
		t.Errorf("ticks begin at %v", begun)
	}
}

// Callers, batches and handles together repeat nothing.
func TestSpreadForMany(t *testing.T) {
	for _, coarse := range []bool{false, true} {
		g := newGenerator(t, Config{
			Fence: Unguarded(testScheme("time=41,node=3,seq=8"), 1), Spread: 200, Lead: 3, Coarse: coarse,
		})
		var mu sync.Mutex
		var all []ID
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				ids := make([]ID, 500)
				h := g.Local()
				for n := 0; n < len(ids); n++ {
					var err error
					switch i % 3 {
					case 0:
						ids[n], err = g.Next(t.Context())
					case 1:
						ids[n], err = h.Next(t.Context())
					default:
						k := min(n+7, len(ids))
						_, err = g.Fill(t.Context(), ids[n:k])
						n = k - 1
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
				checkIncreasing(t, ids)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, ids...)
			})
		}
		wg.Wait()
		checkUnique(t, all)
	}
}

// A spread without effect is refused, and the reason says what helps.
func TestSpreadRefused(t *testing.T) {
	for _, c := range []struct {
		spec   string
		spread int64
		why    string
	}{
		{"snowfence", -1, "give 0 or more"},
		{"snowfence", 4097, "has 4096 sequence numbers"},
		{"time=41,node=10,seq=12,first=5", 4092, "has 4091 sequence numbers"},
		{"sonyflake", 16, "are node"},
		{"time=40,node=8,seq=8,rollback=2", 16, "are rollback"},
		{"time=41,node=22", 2, "are node"},
		{"randflake", 16, "even in all bits"},
		{"snowfence", 4096, ""},
		{"sonyflake", 0, ""},
	} {
		l := must(ParseLayout(c.spec))
		var keys []*Secret
		if l.Cipher != Plain {
			keys = append(keys, GenerateSecret())
		}
		s := must(NewScheme(l, keys...))
		g, err := New(Config{Fence: Unguarded(s, 1), Spread: c.spread})
		for _, err := range []error{err, s.Layout().CheckSpread(c.spread)} {
			if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
				t.Errorf("%s, spread %d: %v", c.spec, c.spread, err)
			}
		}
		if err == nil {
			_ = g.Close()
		}
	}
	s := testScheme("snowfence")
	f := newScript(s, Grant{Node: 1, Until: 1 << 40, FirstSeq: 32, LastSeq: 63})
	says(t, errOf(New(Config{Fence: f, Spread: 33})), "has 32 sequence", "a slice of 32")
	if len(f.released) != 1 {
		t.Error("the grant that cannot be used was not given back")
	}
}

// A later grant with fewer sequence numbers than the spread uses all it
// has, and runs into no tick ahead of the clock.
func TestSpreadOverAShorterSlice(t *testing.T) {
	s, clock := testScheme("time=41,node=3,seq=4,epoch=1999-01-01"), newFakeClock()
	now := s.Layout().TickOf(clock.Wall)
	f := newScript(s, Grant{Node: 1, From: now, Until: now + 1})
	g := newGenerator(t, Config{Fence: seeded{f}, Time: clock.Now, Spread: 16})
	take(t, g, 1)
	f.set(Grant{Node: 2, From: now + 1, Until: now + 1000, FirstSeq: 8, LastSeq: 9}, nil)
	begins := map[int64]bool{}
	for range 50 {
		clock.Advance(time.Millisecond)
		now++
		id := must(g.Next(t.Context()))
		p, err := s.Decode(id)
		if err != nil || p.Node != 2 || p.Tick != now || p.Sequence < 8 || p.Sequence > 9 {
			t.Fatalf("%+v in tick %d: %v", p, now, err)
		}
		begins[p.Sequence] = true
	}
	if len(begins) != 2 {
		t.Errorf("ticks begin at %v", begins)
	}
}

// Where IDs ran into a tick ahead of the clock, the ticker leaves them
// where they are.
func TestTickerBeginsNoTickThatIDsRanInto(t *testing.T) {
	const span = 16
	g, clock := spreading(t, "time=41,node=3,seq=4,epoch=1999-01-01",
		Config{Spread: span, Coarse: true, Lead: 100, MaxWait: -1})
	g.ticking.Store(true)
	w := newPaced(t)
	w.World, g.world = g.world, w
	tr := g.cur.Load()
	ahead := int64(40)
	for g.spread.slotOf(tr.from+ahead) < span/2 {
		ahead++
	}
	want := uint64(ahead)*span + 1
	tr.word.Store(want)
	rounds := 0
	w.during = func(time.Duration) int {
		if rounds++; rounds == 1 {
			clock.Advance(time.Duration(ahead) * time.Millisecond)
		} else if word := tr.word.Load(); word != want {
			t.Errorf("round %d: the word is %d, not %d", rounds, word, want)
		}
		return -1
	}
	g.keepTime()
}
