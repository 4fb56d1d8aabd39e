package snowfence

import (
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/draw"
)

func drawNeighbor(t *draw.T) Neighbor {
	n := Neighbor{Layout: smallLayout(t)}
	n.Nodes = drawNodes(t, n.Layout)
	if l := n.Layout; l.Last > 0 && t.Bool() {
		n.FirstSeq = t.Range(l.First, l.Last)
		n.LastSeq = t.Range(max(n.FirstSeq, 1), l.Last)
	}
	return n
}

func TestBesideAgainstAllIDs(t *testing.T) {
	var refused, proven int
	draw.Check(t, func(t *draw.T) {
		b := Beside{A: drawNeighbor(t), B: drawNeighbor(t)}
		if t.Bool() {
			b.Until = time.Unix(1_700_000_000, t.Range(-50, 300)*int64(time.Second/2))
		}
		var sides []map[ID]Parts
		for _, n := range []Neighbor{b.A, b.B} {
			first, last := n.FirstSeq, n.LastSeq
			if first == 0 && last == 0 {
				last = n.Layout.Last
			}
			sides = append(sides, numbersOf(t, n.Layout, n.Nodes, first, last, func(start time.Time) bool {
				return b.Until.IsZero() || start.Before(b.Until)
			}))
		}
		lowest := ID(-1)
		for id := range sides[0] {
			if _, both := sides[1][id]; both && (lowest < 0 || id < lowest) {
				lowest = id
			}
		}
		got, err := b.Check()
		switch {
		case err != nil:
			t.Fatal(err)
		case lowest < 0 && got != nil:
			t.Fatalf("no ID is in both, but got %+v", *got)
		case lowest >= 0 && got == nil:
			t.Fatalf("%d is in both", lowest)
		case got != nil && (got.ID != lowest || got.From != sides[0][lowest] || got.To != sides[1][lowest]):
			t.Fatalf("got %+v, want %d", *got, lowest)
		}
		if got == nil {
			proven++
		} else {
			refused++
		}
	})
	if proven == 0 || refused == 0 {
		t.Errorf("the layouts drawn do not show both outcomes: %d proven, %d refused", proven, refused)
	}
}

func TestBeside(t *testing.T) {
	year := func(n int) time.Time { return time.Date(n, 1, 1, 0, 0, 0, 0, time.UTC) }
	later := mustLayout(t, "time=41,node=10,seq=12,epoch=2040-01-01")
	whole := Neighbor{Layout: MustLayout("drift")}
	short := mustLayout(t, "time=3,seq=1,tick=1s,epoch=2025-01-01")
	for name, c := range map[string]struct {
		beside Beside
		safe   bool
	}{
		"the same nodes":    {Beside{A: whole, B: whole}, false},
		"nodes apart":       {Beside{A: Neighbor{Layout: MustLayout("drift"), Nodes: NodeRange{0, 30}}, B: Neighbor{Layout: MustLayout("drift"), Nodes: NodeRange{30, 64}}}, true},
		"one node shared":   {Beside{A: Neighbor{Layout: MustLayout("drift"), Nodes: NodeRange{0, 31}}, B: Neighbor{Layout: MustLayout("drift"), Nodes: NodeRange{30, 64}}}, false},
		"slices apart":      {Beside{A: Neighbor{MustLayout("drift"), NodeRange{7, 8}, 5, 31}, B: Neighbor{MustLayout("drift"), NodeRange{7, 8}, 32, 63}}, true},
		"one number shared": {Beside{A: Neighbor{MustLayout("drift"), NodeRange{7, 8}, 5, 32}, B: Neighbor{MustLayout("drift"), NodeRange{7, 8}, 32, 63}}, false},
		// Without a slice the library's own numbers count, 0 to 4 too.
		"reserved numbers": {Beside{
			A: Neighbor{Layout: mustLayout(t, "time=51,node=6,seq=6,first=5,last=31,epoch=2020-02-20")},
			B: Neighbor{mustLayout(t, "time=51,node=6,seq=6,epoch=2020-02-20"), NodeRange{}, 3, 4},
		}, false},
		"two epochs meet in another year": {Beside{A: Neighbor{Layout: Default()}, B: Neighbor{Layout: later}}, false},
		"and not before the later one":    {Beside{A: Neighbor{Layout: Default()}, B: Neighbor{Layout: later}, Until: year(2040)}, true},
		"but soon after": {
			Beside{A: Neighbor{Layout: Default()}, B: Neighbor{Layout: later}, Until: year(2040).Add(time.Millisecond)},
			false,
		},
		"from number 0 on": {Beside{A: Neighbor{Layout: MustLayout("twitter"), LastSeq: 31}, B: Neighbor{MustLayout("twitter"), NodeRange{}, 32, 63}}, true},
		"a bound after the end of time": {Beside{
			A:     Neighbor{Layout: short},
			B:     Neighbor{mustLayout(t, "time=2,seq=2,tick=1s,epoch=2025-01-01"), NodeRange{}, 2, 3},
			Until: year(2025).Add(9 * time.Second),
		}, false},
		"neither has begun": {Beside{A: Neighbor{Layout: Default()}, B: Neighbor{Layout: Default()}, Until: year(2025)}, true},
		"one tick":          {Beside{A: Neighbor{Layout: Default()}, B: Neighbor{Layout: Default()}, Until: year(2025).Add(1)}, false},
	} {
		x, err := c.beside.Check()
		if err != nil || (x == nil) != c.safe {
			t.Errorf("%s: %+v, %v; safe is %t", name, x, err, c.safe)
		}
	}
}

func TestBesideErrors(t *testing.T) {
	good := Neighbor{Layout: MustLayout("drift")}
	for name, c := range map[string]struct {
		n    Neighbor
		want error
	}{
		"no layout":                {Neighbor{}, ErrInvalidLayout},
		"encrypted":                {Neighbor{Layout: Randflake()}, ErrInvalidLayout},
		"nodes":                    {Neighbor{Layout: MustLayout("drift"), Nodes: NodeRange{5, 65}}, ErrInvalidID},
		"a slice of reserved ones": {Neighbor{Layout: MustLayout("drift"), FirstSeq: 4, LastSeq: 9}, ErrInvalidID},
		"a slice above":            {Neighbor{Layout: MustLayout("drift"), FirstSeq: 5, LastSeq: 64}, ErrInvalidID},
		"a slice without an end":   {Neighbor{Layout: MustLayout("drift"), FirstSeq: 9}, ErrInvalidID},
		"a slice backwards":        {Neighbor{Layout: MustLayout("drift"), FirstSeq: 9, LastSeq: 8}, ErrInvalidID},
	} {
		for _, b := range []Beside{{A: c.n, B: good}, {A: good, B: c.n}} {
			if x, err := b.Check(); !errors.Is(err, c.want) || x != nil {
				t.Errorf("%s: %+v, %v; want %v", name, x, err, c.want)
			}
		}
	}
}
