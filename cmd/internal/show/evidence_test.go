package show

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// Streams of each known layout, as generators make them: the layout is the
// likeliest one.
func TestEvidenceFindsTheLayout(t *testing.T) {
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	views := must(Known())
	random := map[string]bool{"Mastodon": true, "TSID": true}
	for _, kind := range []string{"quiet", "bursts", "spread"} {
		for _, v := range views {
			end := v.Layout.EndOfLife()
			if end.After(now) {
				end = now
			}
			r := rand.New(rand.NewPCG(1, 2))
			start := v.Layout.TickOf(end.Add(-200 * 24 * time.Hour))
			step := (v.Layout.TickOf(end.Add(-time.Hour)) - start) / 60
			last := v.Scheme.Nodes() - 1
			nodes := []int64{min(3, last), last / 3, last * 7 / 9}
			e := NewEvidence(views, now)
			for i := range int64(60) {
				at := start + i*step + r.Int64N(step)
				p := snowfence.Parts{Tick: at, Node: nodes[r.IntN(3)], Sequence: v.Layout.First}
				n := 1
				if kind == "bursts" {
					n = 1 + r.IntN(5)
				}
				if kind == "spread" || random[v.title()] {
					p.Sequence += r.Int64N(v.Layout.Last - v.Layout.First - 4)
				}
				if v.title() == "TSID" && kind == "spread" { // its usual generators have a random node
					p.Node = r.Int64N(1024)
				}
				for range n {
					id := must(v.Scheme.Compose(p))
					e.Add(id)
					p.Sequence++
				}
			}
			list := e.Ranking()
			if len(list) == 0 || list[0].view != v {
				t.Errorf("%s, %s:", v.title(), kind)
				for _, x := range list {
					t.Errorf("  %.1f %s", x.surprise(now), x.Reason())
				}
			}
		}
	}
	e := NewEvidence(views, now)
	for range 1000 {
		e.Add(snowfence.ID(rand.Uint64()))
	}
	if list := e.Ranking(); len(list) > 0 {
		t.Errorf("random numbers: %s", list[0].Reason())
	}
}

// IDs that were doubles once are told from those that end in zeros.
func TestEvidenceOfDoubles(t *testing.T) {
	for _, c := range []struct {
		ids  []snowfence.ID
		want bool
	}{
		{[]snowfence.ID{2104672976770171000}, true},
		{[]snowfence.ID{249887800817025000, 249887800817026000}, true},
		{[]snowfence.ID{1234567890123456768}, true},
		{[]snowfence.ID{249887800817025056, 249887800817025088, 249887800817025120}, true},
		{[]snowfence.ID{-1234567890123456768}, true},
		{[]snowfence.ID{249887800817025056, 249887800817025057}, false},
		{[]snowfence.ID{249887800817025024, 250096918090633216}, false},
		{[]snowfence.ID{2126932822896947200}, false}, // a first ID that ends in zeros by chance
		{[]snowfence.ID{1000, 2000, 1 << 53}, false},
		{nil, false},
	} {
		e := NewEvidence(nil, time.Time{})
		e.Add(c.ids...)
		if e.Rounded() != c.want {
			t.Errorf("%v: %v", c.ids, e.Rounded())
		}
	}
	if slices.Contains([]bool{rounded(9007199254740000), rounded(-5)}, true) {
		t.Error("numbers below 2^53 look rounded")
	}
}
