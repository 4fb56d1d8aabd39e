package snowfence

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
)

// Each ID of a layout comes exactly once, over all nodes, slices, ticks,
// rollback values and scatter values; and Ranges finds exactly those of a
// span.
func TestEachIDOnce(t *testing.T) {
	for _, spec := range []string{
		"time=4,node=2,seq=3",
		"scatter=2,time=4,node=2,seq=3",
		"scatter=3,time=3,node=2,seq=1",
		"scatter=3,time=3,node=2", // a turn is one position
		"scatter=2,time=4",
		"node=2,time=4,seq=3",
		"node=1,scatter=2,rack=1,time=3,seq=2",
		"tag=2,time=3,node=2,seq=2",
		"time=3,tag=2,node=2,seq=2",
		"time=3,seq=2,node=2,tag=1",
		"tag=1,scatter=2,time=3,node=1,seq=2",
		"scatter=2,tag=1,time=3,seq=2,node=2",
		"rack=1,time=3,seq=2,node=2",
		"scatter=2,time=3,node=1,seq=3,first=1,last=6",
		"scatter=1,time=3,node=2,seq=3,first=3,last=5",
		"scatter=1,time=3,seq=3,node=2,first=3,last=5",
		"scatter=1,time=3,zone=1,seq=2,rack=1",
	} {
		for _, blockOfNodes := range []int64{1, 2} {
			for name, takeSome := range map[string]func(*Generator, *Local) []ID{
				"next":  func(g *Generator, _ *Local) []ID { return listOf(g.TryNext()) },
				"local": func(_ *Generator, l *Local) []ID { return listOf(l.TryNext()) },
				"fill": func(g *Generator, _ *Local) []ID {
					ids := make([]ID, 3)
					n, _ := g.Fill(t.Context(), ids)
					return ids[:n]
				},
				"runs": func(g *Generator, _ *Local) (ids []ID) {
					runs, _ := g.Runs(t.Context(), nil, 5)
					for _, r := range runs {
						ids = slices.AppendSeq(ids, r.All())
					}
					return ids
				},
			} {
				t.Run(fmt.Sprint(spec, "/", blockOfNodes, "/", name), func(t *testing.T) {
					s := testScheme(spec + ",epoch=2026-05-04")
					if blockOfNodes <= s.Nodes() {
						checkEachID(t, s, blockOfNodes, takeSome)
					}
				})
			}
		}
	}
}

func listOf(id ID, err error) []ID {
	if err != nil {
		return nil
	}
	return []ID{id}
}

func checkEachID(t *testing.T, s *Scheme, blockOfNodes int64, takeSome func(*Generator, *Local) []ID) {
	l := s.Layout()
	var all []ID
	for node := int64(0); node < s.Nodes(); node += blockOfNodes {
		clock := &fakeClock{Wall: l.Epoch, Mono: time.Hour}
		f := newScript(s, Grant{Node: node, Nodes: blockOfNodes, Until: s.MaxTick() + 1})
		g := newGenerator(t, Config{Fence: f, Time: clock.Now, MaxWait: -1})
		h := g.Local()
		var mine []ID
		for tick := range s.MaxTick() + 1 {
			for ids := takeSome(g, h); len(ids) > 0; ids = takeSome(g, h) {
				for _, id := range ids {
					if p := must(s.Decode(id)); p.Tick != tick || p.Tag != 0 {
						t.Fatalf("%d in tick %d is %+v", id, tick, p)
					}
				}
				mine = append(mine, ids...)
			}
			clock.Advance(l.Tick)
		}
		checkRising(t, s, mine)
		checkInside(t, s, mine, f.grants())
		all = append(all, mine...)
	}
	checkUnique(t, all)
	if want := int(s.MaxTick()+1) * int(s.Nodes()) * int(l.Capacity().PerTick); len(all) != want {
		t.Fatalf("%d IDs, want %d", len(all), want)
	}
	checkRanges(t, s, all)
}

// checkRising fails where an ID is not above the last one with the same
// bits above the time.
func checkRising(t testing.TB, s *Scheme, ids []ID) {
	t.Helper()
	last := map[uint64]ID{}
	for _, id := range ids {
		above := uint64(id) >> (s.timeShift + s.timeBits)
		if was, ok := last[above]; ok && id <= was {
			t.Fatalf("%d after %d", id, was)
		}
		last[above] = id
	}
}

// checkRanges compares the ranges of each span of ticks with the times of
// all IDs.
func checkRanges(t *testing.T, s *Scheme, ids []ID) {
	l := s.Layout()
	for from := range s.MaxTick() + 1 {
		for to := from; to <= s.MaxTick()+1; to++ {
			var before ID
			found := map[ID]bool{}
			for lo, hi := range must(s.Ranges(l.TimeOf(from), l.TimeOf(to), nil)) {
				if lo < before || hi <= lo {
					t.Fatalf("%d to %d after %d", lo, hi, before)
				}
				before = hi
				for _, id := range ids {
					if id >= lo && id < hi {
						found[id] = true
					}
				}
			}
			for _, id := range ids {
				if tick := must(s.Decode(id)).Tick; found[id] != (tick >= from && tick < to) {
					t.Fatalf("ticks %d to %d: that %d is found is %v", from, to, id, found[id])
				}
			}
		}
	}
}

// Machines that share a node have slices of the sequence, and all scatter
// values.
func TestScatteredSlices(t *testing.T) {
	s := testScheme("scatter=2,time=3,node=1,seq=3,epoch=2026-05-04")
	var all []ID
	for node := range int64(2) {
		for _, slice := range [][2]int64{{0, 2}, {3, 3}, {4, 7}} {
			clock := &fakeClock{Wall: s.layout.Epoch, Mono: time.Hour}
			gr := Grant{Node: node, FirstSeq: slice[0], LastSeq: slice[1], Until: s.MaxTick() + 1}
			g := newGenerator(t, Config{Fence: newScript(s, gr), Time: clock.Now, MaxWait: -1})
			for range s.MaxTick() + 1 {
				ids, _ := takeAll(t, g, 100)
				all = append(all, ids...)
				clock.Advance(s.layout.Tick)
			}
		}
	}
	checkUnique(t, all)
	if len(all) != 1<<9 {
		t.Fatalf("%d of %d IDs", len(all), 1<<9)
	}
}

// What a database with 32 ranges sees in 100 ms: no range gets much more
// than its share. A batch lies in one range, so that it is one write there.
func TestHotRange(t *testing.T) {
	s := testScheme("scatter=5,time=41,node=10,seq=7,epoch=2025-01-01")
	for _, c := range []struct{ processes, batch int }{{1, 1}, {1, 100}, {20, 1}, {20, 100}, {200, 1}, {200, 10}} {
		clock := newFakeClock()
		var generators []*Generator
		for i := range c.processes {
			f := newScript(s, Grant{Node: int64(i), Until: s.MaxTick()})
			generators = append(generators, newGenerator(t, Config{Fence: f, Time: clock.Now}))
		}
		hottest, dst := 0.0, make([]ID, c.batch)
		for range 5 {
			rows, total := make([]int, 32), 0
			for range 100 {
				for _, g := range generators {
					must(g.Fill(t.Context(), dst))
					for _, id := range dst {
						if uint64(id^dst[0])>>58 != 0 {
							t.Fatal("a batch of a tick lies in two ranges")
						}
					}
					rows[dst[0]>>58] += c.batch
					total += c.batch
				}
				clock.Advance(time.Millisecond)
			}
			hottest = max(hottest, 100*float64(slices.Max(rows))/float64(total))
		}
		t.Logf("%d processes, batches of %d: the hottest of 32 ranges gets %.1f %%", c.processes, c.batch, hottest)
		if hottest > 4 {
			t.Error("that is more than 4 %")
		}
	}
	// With the time first, all rows of weeks go to one.
	plain := testScheme("time=41,node=10,seq=12,epoch=2025-01-01")
	at := newFakeClock().Wall
	lo, hi, err := plain.Range(at, at.AddDate(0, 1, 0))
	if err != nil || lo>>58 != hi>>58 {
		t.Errorf("the month from %v lies in %d to %d, %v", at, lo, hi, err)
	}
}

// Many nodes begin one tick with different values, whenever their grants
// begin.
func TestNodesBeginWithDifferentValues(t *testing.T) {
	s := testScheme("scatter=5,time=41,node=10,seq=7,epoch=2025-01-01")
	rows := make([]int, 32)
	for node := range int64(1024) {
		f := newScript(s, Grant{Node: node, From: node * node, Until: s.MaxTick()})
		g := newGenerator(t, Config{Fence: f, Time: newFakeClock().Now})
		rows[take(t, g, 1)[0]>>58]++
	}
	if slices.Min(rows) < 24 || slices.Max(rows) > 40 {
		t.Errorf("of 1,024 nodes %v begin with each value", rows)
	}
}

// A tag goes where it belongs, and changes nothing else.
func TestTag(t *testing.T) {
	old, key := GenerateSecret(), GenerateSecret()
	for spec, keys := range map[string][]*Secret{
		"tag=10,time=41,node=6,seq=6":                            nil,
		"time=41,tag=10,node=6,seq=6":                            nil,
		"time=40,node=6,seq=8,tag=10":                            nil,
		"time=30,tag=10,node=12,seq=12,cipher=sparx,tick=1s":     {key},
		"key=2,time=39,tag=10,node=6,seq=6,cipher=ff1":           {old, key},
		"key=2,tag=10,time=39,node=3,rack=3,seq=6,cipher=ff1":    {old, key},
		"scatter=2,tag=10,time=39,node=3,seq=6,epoch=2025-01-01": nil,
	} {
		s := must(NewScheme(MustLayout(spec), keys...))
		g := newGenerator(t, Config{Fence: Unguarded(s, 5)})
		seen := map[ID]bool{}
		for _, tag := range []int64{0, 1, 512, 1023, 1} {
			id := must(g.NextFor(t.Context(), tag))
			p := must(s.Decode(id))
			if p.Tag != tag || p.Node != 5 || seen[id] {
				t.Errorf("%s: %+v", spec, p)
			}
			seen[id] = true
			if again := must(s.Decode(must(s.Tag(id, 77)))); again.Tag != 77 || !again.Time.Equal(p.Time) ||
				again.Node != 5 || again.Sequence != p.Sequence || again.Scatter != p.Scatter || again.Key != p.Key {
				t.Errorf("%s: %+v became %+v", spec, p, again)
			}
		}
		for _, tag := range []int64{-1, 1024} {
			wantErr(t, errOf(s.Tag(1, tag)), ErrInvalidID, "%s: tag %d", spec, tag)
			before := g.cur.Load().word.Load()
			_, err := g.NextFor(t.Context(), tag)
			if !errors.Is(err, ErrInvalidID) || g.cur.Load().word.Load() != before {
				t.Errorf("%s: tag %d: %v", spec, tag, err)
			}
		}
		noError(t, g.Close())
		wantErr(t, errOf(g.NextFor(t.Context(), 1)), ErrClosed, "%s", spec)
		if s.keyBits == 0 {
			continue
		}
		first := must(NewScheme(s.layout, old))
		id := must(s.Tag(must(first.Compose(Parts{Tick: 7, Sequence: 3})), 9))
		if p, err := first.Decode(id); err != nil || p.Key != 0 || p.Tag != 9 || p.Tick != 7 || p.Sequence != 3 {
			t.Errorf("%s: an ID of the old secret: %+v, %v", spec, p, err)
		}
	}
	wantErr(t, errOf(testScheme("twitter").Tag(1, 0)), ErrInvalidID, "without a tag field")
	wantErr(t, errOf(testScheme("time=40,tag=3").Tag(1<<43, 0)), ErrInvalidID, "an ID of another layout")
}

func TestRangesWithin(t *testing.T) {
	s := testScheme("node=2,tag=3,time=8,rack=2,seq=4,epoch=2026-05-04")
	at := s.layout.TimeOf
	count := func(within map[string]int64) (n int, err error) {
		given := maps.Clone(within)
		ranges, err := s.Ranges(at(1), at(3), given)
		if err != nil {
			return 0, err
		}
		clear(given) // which is the caller's
		for lo, hi := range ranges {
			p, q := must(s.Decode(lo)), must(s.Decode(hi-1))
			if p.Tick != 1 || q.Tick != 2 || p.Tag != q.Tag || p.Node>>2 != q.Node>>2 || hi-lo != 2<<6 {
				t.Errorf("%+v to %+v", p, q)
			}
			for name, v := range within {
				if got := map[string]int64{"node": p.Node >> 2, "tag": p.Tag}[name]; got != v {
					t.Errorf("%s is %d, not %d", name, got, v)
				}
			}
			n++
		}
		return n, nil
	}
	for want, within := range map[int]map[string]int64{
		32: nil, 8: {"node": 3}, 4: {"tag": 0}, 1: {"node": 2, "tag": 7},
	} {
		if n, err := count(within); n != want || err != nil {
			t.Errorf("%v: %d ranges, %v", within, n, err)
		}
	}
	for why, within := range map[string]map[string]int64{
		"no field rack above": {"rack": 1}, "no field x": {"tag": 1, "x": 0}, "its 3 bits": {"tag": 8},
		"node -1": {"node": -1},
	} {
		tests.Refuses(t, tests.ErrOf(count(within)), ErrInvalidID, why)
	}
	fails(t, errOf(s.Ranges(at(3), at(1), nil)), "a span that ends before it starts")
	// The last number of a sign cannot be the end of a range.
	for spec, want := range map[string]string{
		"scatter=1,time=3,node=60": "[[0 9223372036854775807] [-9223372036854775808 0]]",
		"tag=1,time=3,node=59":     "[[0 4611686018427387904] [4611686018427387904 9223372036854775807]]",
		"time=3,node=59":           "[[0 4611686018427387904]]",
	} {
		var got [][2]ID
		s := testScheme(spec)
		for lo, hi := range must(s.Ranges(s.layout.Epoch, s.layout.Epoch.Add(time.Hour), nil)) {
			got = append(got, [2]ID{lo, hi})
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v", spec, got)
		}
	}
}
