package lease

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/snowfence/snowfence"
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
		g := empty(t, withRollback)
		g.l.opts.Within, g.l.opts.Nodes = snowfence.NodeRange{From: c.from, Until: c.until}, c.block
		ns, err := g.c.within(Namespace{Name: "n", First: 10, Last: 20})
		if c.first == 0 {
			if err == nil {
				t.Errorf("%+v: nodes %d to %d", c, ns.First, ns.Last)
			}
			continue
		}
		if err != nil || ns.First != c.first || ns.Last != c.last {
			t.Errorf("%+v: nodes %d to %d, %v", c, ns.First, ns.Last, err)
		}
	}
}

// found returns a finder over a namespace whose present layout began with generation 3.
func found(t *testing.T, now, floor int64) (*stage, *finder) {
	g := empty(t, withRollback)
	return g, &finder{c: g.c, now: now, ns: Namespace{Name: "n", Since: 3, Generation: 5, Floor: floor, Last: 255}}
}

// The node whose grant begins soonest comes first.
// None comes before one that was never leased.
func TestWaitForANode(t *testing.T) {
	const now = 1_000_000
	of := func(untils ...int64) (rs []Record) {
		for _, u := range untils {
			r := Record{Nonce: "x", Generation: 4, Until: u}
			if u == 0 {
				r = Record{}
			}
			rs = append(rs, r)
		}
		return rs
	}
	for name, c := range map[string]struct {
		floor int64
		block []Record
		want  int64
	}{
		"never leased":                        {0, of(0), 0},
		"never leased, below the floor":       {now + 9, of(0, 0), 0},
		"leased long ago":                     {0, of(now - 10), 1},
		"until now":                           {0, of(now), 1},
		"a little ahead":                      {0, of(now + 5), 6},
		"the first is further ahead":          {0, of(now+5, now+2), 6},
		"the second is further ahead":         {0, of(now+2, now+5), 6},
		"one was never leased":                {0, of(0, now-10), 1},
		"ahead of a floor that is ahead":      {now + 100, of(now + 103), 4},
		"below a floor that is ahead":         {now + 100, of(now + 3), 1},
		"of an earlier layout, further ahead": {0, []Record{{Nonce: "x", Generation: 2, Until: now + 50}}, 1},
	} {
		_, f := found(t, now, c.floor)
		if w := f.wait(c.block); w != c.want {
			t.Errorf("%s: %d, not %d", name, w, c.want)
		}
	}
}

// A node can be leased if nobody else has it in the present layout,
// and its grant would not begin much later than that of another node.
func TestNodesThatAreTaken(t *testing.T) {
	g, f := found(t, 0, 0)
	f.now = g.l.ticks.layout.TickOf(g.now)
	target := g.l.ticks.target(g.now)
	const other = "other.1"
	for name, c := range map[string]struct {
		floor int64
		r     Record
		taken bool
	}{
		"never leased":                {0, Record{}, false},
		"never leased, but vetoed":    {0, Record{Veto: "rack on fire"}, true},
		"free, but vetoed":            {0, Record{Nonce: "x", Generation: 4, Until: f.now - 5, Veto: "rack on fire"}, true},
		"run out":                     {0, Record{Nonce: "x", Generation: 4, Holder: other, Until: f.now}, false},
		"held":                        {0, Record{Nonce: "x", Generation: 4, Holder: other, Until: f.now + 1}, true},
		"held since the layout began": {0, Record{Nonce: "x", Generation: 3, Holder: other, Until: f.now + 1}, true},
		"held by an earlier layout":   {0, Record{Nonce: "x", Generation: 2, Holder: other, Until: target + 1}, false},
		"held by this lease":          {0, Record{Nonce: "x", Generation: 4, Holder: g.c.holderOf(1), Until: target + 1}, false},
		"given back":                  {0, Record{Nonce: "x", Generation: 4, Until: f.now + 1}, false},
		"given back, one ttl ahead":   {0, Record{Nonce: "x", Generation: 4, Until: target}, false},
		"given back, further ahead":   {0, Record{Nonce: "x", Generation: 4, Until: target + 1}, true},
		"as far as the floor":         {target + 1, Record{Nonce: "x", Generation: 4, Until: target + 1}, false},
		"below the floor":             {target + 2, Record{Nonce: "x", Generation: 4, Until: target + 1}, false},
		"further than the floor":      {target + 1, Record{Nonce: "x", Generation: 4, Until: target + 2}, true},
	} {
		f.ns.Floor = c.floor
		if taken := f.unavailable(c.r); taken != c.taken {
			t.Errorf("%s: taken %t", name, taken)
		}
	}
}

// Options.Check is asked about each node until it refuses it. What it says after the end of its
// context is not remembered.
func TestCheckOfANode(t *testing.T) {
	g, f := found(t, 0, 0)
	if !f.allowed(t.Context(), 1) {
		t.Error("refused without a check")
	}
	var answer error
	asked := 0
	g.l.opts.Check = func(context.Context, int64) error { asked++; return answer }
	if !f.allowed(t.Context(), 1) || asked != 1 || f.check != nil || len(g.c.refused) != 0 {
		t.Errorf("allowed: asked %d times, refused %v, %v", asked, g.c.refused, f.check)
	}
	answer = errors.New("in use by hand")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if f.allowed(over, 1) || asked != 2 || len(g.c.refused) != 0 {
		t.Errorf("after the end of its context: asked %d times, refused %v", asked, g.c.refused)
	}
	for range 2 {
		f.check = nil
		if f.allowed(t.Context(), 1) || asked != 3 || f.check == nil || len(g.c.refused) != 1 {
			t.Errorf("refused: asked %d times, refused %v, %v", asked, g.c.refused, f.check)
		}
	}
}

// uncounted is a store that does not count, or not any more after some counts.
type uncounted struct {
	*Memory
	counts int
	err    error
}

func (u *uncounted) Count(ctx context.Context, namespace string, nodes snowfence.NodeRange) (int64, error) {
	if u.counts--; u.counts < 0 {
		return -1, u.err
	}
	return u.Memory.Count(ctx, namespace, nodes)
}

// A node that was never leased is found by counting, and where the store does not count,
// by reading: "not known" is not taken for none.
func TestGapWithAndWithoutACount(t *testing.T) {
	for name, c := range map[string]struct {
		counts int
		err    error
		want   []int64
	}{
		"counts":              {100, nil, []int64{250}},
		"does not count":      {0, nil, []int64{250, 251, 252, 253, 254, 255}},
		"stops to count":      {3, nil, []int64{250, 251, 252, 253, 254, 255}},
		"fails":               {0, errSilent, nil},
		"fails after a while": {3, errSilent, nil},
	} {
		g, f := found(t, 1000, 0)
		for node := range int64(250) {
			r := Record{Key: Key{"n", node}, Nonce: "x", Generation: 5, Holder: "somebody", Until: 2000}
			g.must(g.st.Memory.Swap(t.Context(), []Write{{New: r}})[0])
		}
		f.c.st = &uncounted{g.st.Memory, c.counts, c.err}
		nodes, err := f.gap(t.Context())
		if !slices.Equal(nodes, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%s: nodes %v, %v", name, nodes, err)
		}
		f.ns.Last = 0
		if nodes, err := f.gap(t.Context()); len(nodes) != 0 || !errors.Is(err, c.err) {
			t.Errorf("%s, and the only node is held: nodes %v, %v", name, nodes, err)
		}
	}
	g, f := found(t, 1000, 0)
	for node := range int64(256) {
		g.must(g.st.Memory.Swap(t.Context(), []Write{{New: Record{Key: Key{"n", node}, Nonce: "x"}}})[0])
	}
	f.ns.Since = 1
	g.st.listErr = errSilent // all are counted, so none is read
	if nodes, err := f.gap(t.Context()); len(nodes) != 0 || err != nil {
		t.Errorf("of a full namespace: %v, %v", nodes, err)
	}
}
