package claim

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// A lease may have nodes that both the namespace and
// Options.Within allow, if a block fits among them.
func TestNodesWithin(t *testing.T) {
	for _, c := range []struct {
		from, until int64
		block       int
		first, last int64 // both 0 for none
	}{
		{0, 0, 1, 10, 20},
		{0, 0, 32, 10, 20}, // other checks are for these
		{5, 15, 1, 10, 14},
		{12, 30, 1, 12, 20},
		{12, 15, 1, 12, 14},
		{12, 16, 4, 12, 15},
		{12, 15, 4, 0, 0},
		{5, 14, 4, 10, 13},
		{5, 13, 4, 0, 0},
		{21, 30, 1, 0, 0},
		{20, 30, 1, 20, 20},
		{5, 10, 1, 0, 0},
		{5, 11, 1, 10, 10},
	} {
		g := empty(t, playLayout)
		g.c.Within, g.c.Nodes = snowfence.NodeRange{From: c.from, Until: c.until}, c.block
		terms := scope.Terms{Nodes: snowfence.NodeRange{From: 10, Until: 21}}
		ns, err := g.c.within(scope.Namespace{Name: "n", Terms: terms})
		if c.first == 0 {
			if err == nil {
				t.Errorf("%+v: nodes %d to %d", c, ns.Nodes.From, ns.Nodes.Until-1)
			}
			continue
		}
		if err != nil || ns.Nodes != (snowfence.NodeRange{From: c.first, Until: c.last + 1}) {
			t.Errorf("%+v: nodes %d to %d, %v", c, ns.Nodes.From, ns.Nodes.Until-1, err)
		}
	}
}

// found returns a finder over a namespace whose present layout began with
// generation 3.
func found(t *testing.T, now, floor int64) (*stage, *finder) {
	g := empty(t, playLayout)
	terms := scope.Terms{Since: 3, Floor: floor, Nodes: snowfence.NodeRange{Until: 256}}
	ns := scope.Namespace{Name: "n", Generation: 5, Terms: terms}
	return g, &finder{c: g.c, now: now, ns: ns}
}

// The node whose grant begins soonest comes first.
func TestFloorAhead(t *testing.T) {
	const now = 1_000_000
	of := func(untils ...int64) (rs []store.Record) {
		for _, u := range untils {
			r := store.Record{Nonce: "x", Generation: 4, Until: u}
			if u == 0 {
				r = store.Record{}
			}
			rs = append(rs, r)
		}
		return rs
	}
	for name, c := range map[string]struct {
		floor int64
		block []store.Record
		want  int64
	}{
		"never leased":                        {0, of(0), 0},
		"never leased, below the floor":       {now + 9, of(0, 0), 0},
		"leased long ago":                     {0, of(now - 10), 0},
		"until now":                           {0, of(now), 0},
		"a little ahead":                      {0, of(now + 5), 5},
		"the first is further ahead":          {0, of(now+5, now+2), 5},
		"the second is further ahead":         {0, of(now+2, now+5), 5},
		"one was never leased":                {0, of(0, now-10), 0},
		"ahead of a floor that is ahead":      {now + 100, of(now + 103), 3},
		"below a floor that is ahead":         {now + 100, of(now + 3), 0},
		"its own, ahead":                      {0, []store.Record{{Nonce: "x", Generation: 4, Until: now + 5, Holder: "own"}}, 0},
		"another's behind its own":            {0, []store.Record{{Nonce: "x", Generation: 4, Until: now + 5, Holder: "own"}, {Nonce: "x", Generation: 4, Until: now + 2}}, 2},
		"of an earlier layout, further ahead": {0, []store.Record{{Nonce: "x", Generation: 2, Until: now + 50}}, 0},
	} {
		g, f := found(t, now, c.floor)
		for i, r := range c.block {
			if r.Holder != "" {
				c.block[i].Nonce = g.c.nonce()
			}
		}
		if n := f.ahead(c.block); n != c.want {
			t.Errorf("%s: %d, not %d", name, n, c.want)
		}
	}
}

// A node can be leased if it has no other holder in the present layout,
// and its grant would not begin much later than another node's.
func TestNodesThatAreTaken(t *testing.T) {
	g, f := found(t, 0, 0)
	f.now = g.c.Ticks.Layout.TickOf(g.now)
	target := g.c.Ticks.Target(g.now)
	const other = "other.1"
	for name, c := range map[string]struct {
		floor int64
		r     store.Record
		taken bool
	}{
		"never leased":                {0, store.Record{}, false},
		"never leased, but vetoed":    {0, store.Record{Veto: "rack on fire"}, true},
		"free, but vetoed":            {0, store.Record{Nonce: "x", Generation: 4, Until: f.now - 5, Veto: "rack on fire"}, true},
		"run out":                     {0, store.Record{Nonce: "x", Generation: 4, Holder: other, Until: f.now}, false},
		"held":                        {0, store.Record{Nonce: "x", Generation: 4, Holder: other, Until: f.now + 1}, true},
		"held since the layout began": {0, store.Record{Nonce: "x", Generation: 3, Holder: other, Until: f.now + 1}, true},
		"held by an earlier layout":   {0, store.Record{Nonce: "x", Generation: 2, Holder: other, Until: target + 1}, false},
		"held by this lease":          {0, store.Record{Nonce: g.c.nonce(), Generation: 4, Holder: "own", Until: target + 1}, false},
		"held by a copy of it":        {0, store.Record{Nonce: "x", Generation: 4, Holder: g.c.holderOf(1), Until: f.now + 1}, true},
		"given back by this lease":    {0, store.Record{Nonce: g.c.nonce(), Generation: 4, Until: target + 1}, true},
		"given back":                  {0, store.Record{Nonce: "x", Generation: 4, Until: f.now + 1}, false},
		"given back, one ttl ahead":   {0, store.Record{Nonce: "x", Generation: 4, Until: target}, false},
		"given back, further ahead":   {0, store.Record{Nonce: "x", Generation: 4, Until: target + 1}, true},
		"as far as the floor":         {target + 1, store.Record{Nonce: "x", Generation: 4, Until: target + 1}, false},
		"below the floor":             {target + 2, store.Record{Nonce: "x", Generation: 4, Until: target + 1}, false},
		"further than the floor":      {target + 1, store.Record{Nonce: "x", Generation: 4, Until: target + 2}, true},
	} {
		f.ns.Floor = c.floor
		if taken := f.unavailable(c.r); taken != c.taken {
			t.Errorf("%s: taken %t", name, taken)
		}
	}
}

// Free blocks come in this order: those that the label held last, the
// latest first; those that were never leased; those that are free for
// longest; those whose floor is ahead.
func TestOrderOfFreeBlocks(t *testing.T) {
	g, f := found(t, 1000, 0)
	f.seen = map[int64]bool{}
	for node, r := range map[int64]store.Record{
		1: {Until: 1009, Label: "stage"}, 2: {Until: 1003, Label: "other"}, // ahead
		3: {Until: 700, Label: "other"}, 4: {Until: 600, Label: "other"}, // free
		6: {Until: 300, Label: "stage"}, 7: {Until: 400, Label: "stage"}, // the label's
		8: {Until: 100, Label: "stage", Veto: "broken"},
	} {
		r.Key, r.Nonce, r.Generation = store.Key{Namespace: "n", Node: node}, "x", 4
		must(store.Put(t.Context(), g.Memory, store.Write{New: r}))
	}
	for ahead, want := range map[bool]string{true: "[7 6 5 4 3 2 1]", false: "[7 6 5 4 3]"} {
		blocks, err := f.free(t.Context(), []int64{1, 2, 3, 4, 5, 6, 7, 8, 5}, ahead)
		g.must(err)
		var got []int64
		for _, b := range blocks {
			got = append(got, b[0].Node)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("nodes %d, not %s", got, want)
		}
	}
}

// A probe reads 64 whole blocks, or 1,024 records. One block in four is one
// that the label points to, always the same ones; the others are anywhere.
// Few blocks are read all.
func TestProbe(t *testing.T) {
	for name, c := range map[string]struct {
		block, pointed, all int
		first, last         int64
	}{
		"of many":       {1, 16, 64, 100, 70_099},
		"of few":        {1, 16, 40, 100, 139},
		"of very few":   {1, 3, 3, 100, 102},
		"of blocks":     {16, 16, 64, 5, 65_530},
		"of large":      {256, 1, 4, 5, 65_530},
		"of very large": {4096, 1, 1, 5, 65_530},
		"of none":       {16, 0, 0, 1, 30},
	} {
		g, f := found(t, 0, 0)
		g.c.Nodes, f.ns.Nodes = c.block, snowfence.NodeRange{From: c.first, Until: c.last + 1}
		again := map[int64]bool{}
		for range 3 {
			nodes := f.probe()
			if len(nodes) != c.all {
				t.Fatalf("%s: %d blocks, not %d", name, len(nodes), c.all)
			}
			for i, n := range nodes {
				if n < c.first || n+int64(c.block)-1 > c.last || n%int64(c.block) != 0 {
					t.Errorf("%s: block %d", name, n)
				}
				if i < c.pointed {
					again[n] = true
				}
			}
		}
		if len(again) != c.pointed {
			t.Errorf("%s: the label points to %d blocks, not %d", name, len(again), c.pointed)
		}
	}
}

// The last free block is found wherever it is, also where a page ends
// within it. With none, the error counts all.
func TestPagesFindTheLastBlock(t *testing.T) {
	for _, free := range []int64{-1, 0, 4092, 4096, 8188, 9996} {
		for range 4 { // from different places on
			g, f := found(t, 1000, 0)
			g.c.Nodes, f.ns.Nodes = 4, snowfence.NodeRange{Until: 10_000}
			var writes []store.Write
			for node := range int64(10_000) {
				if node%4 == 1 || node&^3 == free {
					continue // never leased
				}
				writes = append(writes, store.Write{New: store.Record{
					Key: store.Key{Namespace: "n", Node: node}, Nonce: "x", Generation: 5, Holder: "other.1",
					Label: "other", Until: 2000,
				}})
			}
			errs, _, _ := g.Memory.Swap(t.Context(), writes)
			g.must(errors.Join(errs...))
			var got []int64
			for blocks, err := range f.pages(t.Context(), probeBlocks) {
				g.must(err)
				got = append(got, firsts(blocks)...)
			}
			if e := g.c.taken; free < 0 && len(got) != 0 || free >= 0 && !slices.Equal(got, []int64{free}) ||
				e.Held != int64(len(writes)) || e.Holders != fmt.Sprintf("other (%d)", len(writes)) || e.NextFree == 0 {
				t.Errorf("blocks %d, not %d; %+v", got, free, *e)
			}
		}
	}
}

// A lease that waits for one of many nodes reads all of them once a ttl,
// and a few whenever it looks. It reads a few nodes each time.
func TestWaitingReadsAllOnceATTL(t *testing.T) {
	for last, want := range map[int64]int{1023: 6, 1024: 2} {
		g, f := found(t, 1000, 0)
		f.ns.Nodes.Until = last + 1
		for node := range last + 1 {
			r := store.Record{
				Key: store.Key{Namespace: "n", Node: node}, Nonce: "x", Generation: 5, Holder: "other.1", Until: 2000,
			}
			must(store.Put(t.Context(), g.Memory, store.Write{New: r}))
		}
		scans := 0
		for range 6 {
			before := g.c.scanTime
			for rs, err := range f.candidates(t.Context()) {
				t.Errorf("found %+v, %v", rs, err)
			}
			if g.c.scanTime != before {
				scans++
			}
			if g.c.taken == nil || g.c.taken.Held != last+1 {
				t.Errorf("%+v", g.c.taken)
			}
			g.now = g.now.Add(g.c.TTL / 4)
		}
		if scans != want {
			t.Errorf("%d nodes: all were read %d times, not %d", last+1, scans, want)
		}
	}
}

// A block is the label's if one of its records is, and is as old as the
// latest of them.
func TestRankOfABlock(t *testing.T) {
	g, f := found(t, 100, 10)
	r := func(label string, until int64) store.Record {
		return store.Record{Nonce: "x", Generation: 3, Label: label, Until: until}
	}
	own := g.c.Label
	for _, c := range []struct {
		of   []store.Record
		want rank
	}{
		{[]store.Record{r(own, 50), r("another", 40)}, rank{0, -50}},
		{[]store.Record{r("another", 50), r("another", 40)}, rank{1, 50}},
		{[]store.Record{{}, {}}, rank{1, 10}},
		{[]store.Record{r(own, 50), r(own, 140)}, rank{2, 40}},
		{[]store.Record{r(own, 140), {Nonce: g.c.nonce(), Holder: "own"}}, rank{2, 40}},
	} {
		if got := f.rank(c.of); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
