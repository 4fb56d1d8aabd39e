package audit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/draw"
)

// oracle is the slow and simple way to find what an audit finds.
type oracle struct {
	keys  []uint64 // in order as IDs are
	where map[uint64][]int64
	steps []Step
}

func newOracle(ids []snowfence.ID, flip uint64) *oracle {
	o := &oracle{where: map[uint64][]int64{}}
	for i, id := range ids {
		k := uint64(id) ^ flip
		o.where[k] = append(o.where[k], int64(i))
		if i > 0 {
			if k < uint64(ids[i-1])^flip {
				o.steps = append(o.steps, Step{Position: int64(i), Before: ids[i-1], ID: id})
			}
		}
	}
	for k := range o.where {
		o.keys = append(o.keys, k)
	}
	slices.Sort(o.keys)
	return o
}

func (o *oracle) duplicates(flip uint64) []Duplicate {
	var list []Duplicate
	for _, k := range o.keys {
		if at := o.where[k]; len(at) > 1 {
			list = append(list, Duplicate{
				ID: snowfence.ID(k ^ flip), Count: int64(len(at)), Positions: at[:min(len(at), maxPositions)],
			})
		}
	}
	return list
}

func (o *oracle) gaps(flip uint64, counts int) (list []Gap, missing uint64) {
	for i, b := range o.keys {
		a := b - 1 // the one before, if it is there or nothing has to be
		if i > 0 {
			a = o.keys[i-1]
		}
		if id := snowfence.ID(b ^ flip); counts > 0 && (i == 0 || snowfence.ID(a^flip)>>counts != id>>counts) {
			a = uint64(id>>counts<<counts-1) ^ flip
		}
		if b-a > 1 {
			list = append(list, Gap{After: snowfence.ID(a ^ flip), Before: snowfence.ID(b ^ flip), Missing: b - a - 1})
			missing += b - a - 1
		}
	}
	return list, missing
}

// countUp makes numbers of IDs that count up in their lowest bits.
func countUp(ids []snowfence.ID, bits int) {
	for i := range ids {
		ids[i] &= math.MaxInt64
		if mask := snowfence.ID(1)<<bits - 1; ids[i]&mask == mask {
			ids[i]--
		}
	}
}

// drawIDs draws IDs of many kinds: those that come from one generator, from
// several, from none, and such as lie far apart or close together.
func drawIDs(t *draw.T) []snowfence.ID {
	n := t.Int(0, 3000)
	r := rand.New(rand.NewPCG(t.Word(), 1))
	ids := make([]snowfence.ID, n)
	kinds := []string{"random", "narrow", "sorted", "nearly", "equal", "few", "skewed", "clumps", "merged"}
	kind := draw.One(t, kinds)
	base := r.Uint64()
	for i := range ids {
		var v uint64
		switch kind {
		case "random":
			v = r.Uint64()
		case "narrow":
			v = base + r.Uint64N(2000)
		case "sorted", "nearly":
			v = 1<<60 + uint64(i)*7
		case "equal":
			v = base
		case "few":
			v = base + r.Uint64N(3)<<50
		case "skewed":
			if v = 1<<61 + r.Uint64N(1<<20); r.IntN(100) == 0 {
				v = r.Uint64()
			}
		case "clumps":
			v = r.Uint64N(12)<<50 + r.Uint64N(1000)
		case "merged":
			v = 1<<60 + uint64(i/2)<<12 + uint64(i%2)<<40
		}
		ids[i] = snowfence.ID(v)
	}
	if kind != "sorted" && n > 1 {
		for range t.Int(0, 4) {
			ids[r.IntN(n)] = ids[r.IntN(n)]
		}
	}
	return ids
}

func TestAgainstOracle(t *testing.T) {
	for _, layout := range []string{"", "time=41,node=10,seq=12,first=1000", "discord"} {
		t.Run(layout, func(t *testing.T) {
			draw.Check(t, func(t *draw.T) {
				ids := drawIDs(t)
				var o Options
				o.Limit = draw.One(t, []int{0, 1, 20, 5000})
				if layout != "" {
					o.Scheme = schemeOf(layout)
				} else if o.Counts = draw.One(t, []int{0, 0, 4, 40, 63}); o.Counts > 0 {
					countUp(ids, o.Counts)
				}
				a := must(New(o))
				addAll(t, a, ids)
				got := must(a.Result(t.Context()))
				compare(t, got, ids, a.flip, o)
			})
		})
	}
}

func schemeOf(spec string) *snowfence.Scheme {
	l := must(snowfence.ParseLayout(spec))
	return must(snowfence.NewScheme(l))
}

// addAll adds IDs in portions of odd sizes.
func addAll(t *draw.T, a *Auditor, ids []snowfence.ID) {
	for rest := ids; len(rest) > 0; {
		n := min(len(rest), t.Int(1, 300))
		noError(t, a.Add(rest[:n]...))
		rest = rest[n:]
	}
}

func compare(t *draw.T, got *Result, ids []snowfence.ID, flip uint64, o Options) {
	limit := o.Limit
	want := newOracle(ids, flip)
	if got.Count != int64(len(ids)) || got.Distinct != int64(len(want.keys)) {
		t.Fatalf("%d IDs, %d distinct; want %d, %d", got.Count, got.Distinct, len(ids), len(want.keys))
	}
	if len(ids) == 0 {
		return
	}
	lo, hi := snowfence.ID(want.keys[0]^flip), snowfence.ID(want.keys[len(want.keys)-1]^flip)
	if got.Lowest != lo || got.Highest != hi {
		t.Fatalf("from %d to %d; want %d, %d", got.Lowest, got.Highest, lo, hi)
	}
	list := want.duplicates(flip)
	if got.Duplicates.IDs != int64(len(list)) || got.Duplicates.Extra != int64(len(ids)-len(want.keys)) {
		t.Fatalf("%d duplicates, %d too many; want %d, %d",
			got.Duplicates.IDs, got.Duplicates.Extra, len(list), len(ids)-len(want.keys))
	}
	if !slices.EqualFunc(got.Duplicates.List, list[:min(len(list), limit)], func(a, b Duplicate) bool {
		return a.ID == b.ID && a.Count == b.Count && slices.Equal(a.Positions, b.Positions)
	}) {
		t.Fatalf("duplicates %v; want %v", got.Duplicates.List, list)
	}
	if got.Order.Violations != int64(len(want.steps)) ||
		!slices.Equal(got.Order.List, want.steps[:min(len(want.steps), limit)]) {
		t.Fatalf("order %v; want %v", got.Order, want.steps)
	}
	gaps, missing := want.gaps(flip, o.Counts)
	if got.Gaps.Count != int64(len(gaps)) || got.Gaps.Missing != missing ||
		!slices.Equal(got.Gaps.List, gaps[:min(len(gaps), limit)]) {
		t.Fatalf("gaps %v; want %v", got.Gaps, gaps)
	}
	compareEvenness(t, got, ids)
	if got.Fields != nil {
		compareFields(t, got.Fields, ids)
	}
}

// compareEvenness checks the counts behind the tests.
func compareEvenness(t *draw.T, got *Result, ids []snowfence.ID) {
	for _, e := range got.Evenness {
		counts := make([]int64, 256)
		for _, id := range ids {
			counts[uint64(id)>>e.Lowest&0xff]++
		}
		sum, expected := 0.0, float64(len(ids))/256
		for _, n := range counts {
			sum += (float64(n) - expected) * (float64(n) - expected) / expected
		}
		if math.Abs(sum-e.Value) > 1e-9*(1+sum) || !slices.Equal(e.Counts, counts) {
			t.Fatalf("%s bits: chi-square %v; want %v", e.Bits, e.Value, sum)
		}
	}
}

func compareFields(t *draw.T, got *Fields, ids []snowfence.ID) {
	scheme := schemeOf(got.Layout.String())
	nodes := map[int64]int64{}
	var foreign, highest int64
	var first, last time.Time
	for i, id := range ids {
		p, err := scheme.Decode(id)
		if err != nil {
			foreign++
			continue
		}
		if nodes[p.Node]++; foreign == int64(i) {
			first, last = p.Time, p.Time
		}
		if p.Time.Before(first) {
			first = p.Time
		}
		if p.Time.After(last) {
			last = p.Time
		}
		highest = max(highest, p.Sequence)
	}
	if got.Foreign != foreign || got.Nodes.Seen != int64(len(nodes)) || len(got.Nodes.List) != len(nodes) ||
		got.Sequence != highest || !got.First.Equal(first) || !got.Last.Equal(last) {
		t.Fatalf("fields %+v; want %d foreign, %d nodes, sequence %d, from %v to %v", got, foreign, len(nodes),
			highest, first, last)
	}
	for _, n := range got.Nodes.List {
		if nodes[n.Node] != n.Count {
			t.Fatalf("node %d made %d; want %d", n.Node, n.Count, nodes[n.Node])
		}
	}
}
