package snowfence

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/draw"
)

// reference is the slow reference for a generator: the textbook algorithm with a tick and
// a sequence number in two variables, one goroutine, no positions, no word. It reads the
// clock as it is, steps back included.
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
			o.seq += int64(o.spread.slot(now))
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

// The settings other libraries have, as theirs: classic Snowflake and Sonyflake wait,
// snow-drift runs ahead by up to 2000 ticks.
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
				s, err := NewScheme(must(ParseLayout(c.spec)))
				if err != nil {
					t.Fatal(err)
				}
				clock := newFakeClock()
				if c.name == "seconds" {
					clock.wall = clock.wall.AddDate(-6, 0, 0) // its time ended in 2024
				}
				node := t.Range(0, s.Nodes()-1)
				g, err := New(Config{Fence: Unguarded(s, node), Lead: c.lead, Time: clock.now})
				if err != nil {
					t.Fatal(err)
				}
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
					clock.step(move)
					now := l.TickOf(clock.wall)
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

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// fillNow is Fill without waiting.
func fillNow(g *Generator, dst []ID) (int, error) {
	t, pos, count, err := g.reserve(context.Background(), uint64(len(dst)), -1)
	if err != nil {
		return 0, err
	}
	return t.write(dst, pos, count), nil
}
