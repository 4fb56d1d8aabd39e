package plan

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/draw"
	"github.com/snowfence/snowfence/internal/tests"
)

func layout(t *testing.T, spec string) snowfence.Layout {
	t.Helper()
	l := tests.Must(snowfence.ParseLayout(spec))
	return l
}

// No ID of a tick has more digits than is said, and one has as many.
func TestDigits(t *testing.T) {
	for _, spec := range []string{
		"twitter", "sonyflake", "drift", "discord", "baidu", "time=3,seq=1", "time=53", "time=40,seq=13",
		"scatter=5,time=20,node=3", "tag=3,scatter=2,time=40,seq=4", "node=10,time=41,tag=6", "tag=3,time=51,seq=10",
	} {
		l := layout(t, spec)
		s := tests.Must(snowfence.NewScheme(l))
		for tick := int64(1); tick <= s.MaxTick() && l.TimeOf(tick).Year() < 9999; tick *= 2 {
			for _, tick := range []int64{tick - 1, tick} {
				p := snowfence.Parts{Tick: tick, Node: s.Nodes() - 1, Sequence: l.Last}
				p.Rollback = 1<<l.Bits(snowfence.FieldRollback) - 1
				p.Scatter, p.Tag = 1<<l.Bits(snowfence.FieldScatter)-1, 1<<l.Bits(snowfence.FieldTag)-1
				id, err := s.Compose(p)
				want := len(snowfence.Decimal.Encode(max(id, -(id + 1)))) // after 2^63 all have the digits of 2^63
				if got := DigitsAt(l, l.TimeOf(tick)); err != nil || id >= 0 && got != want || id < 0 && got != 19 {
					t.Errorf("%s, tick %d: %d digits, want %d; %v", spec, tick, got, want, err)
				}
			}
		}
	}
	for spec, want := range map[string]int{"randflake": 19, "time=30,node=10,cipher=ff1": 13} {
		if got := Of(layout(t, spec), time.Now()); got.Digits != want || got.MostDigits != want {
			t.Errorf("%s: %+v", spec, got)
		}
	}
}

// Every proposal meets the need; where there is none, the smallest layout
// of no tick does.
func TestProposalsMeetTheNeed(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		power := func(low, high float64) float64 { return math.Exp2(low + t.Float64()*(high-low)) }
		n := Need{
			Rate: power(-10, 59.7), Nodes: uint64(power(0, 62)), Years: power(-40, 12.7), JSSafe: t.Bool(),
			Epoch: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		}
		if n.Datacenters = uint64(power(-4, 8)); n.Datacenters > n.Nodes {
			n.Datacenters = n.Nodes
		}
		n.Scatter = uint64(max(power(-8, 12), 1))
		n.Tags = uint64(max(power(-10, 20), 1))
		tests.NoError(t, n.Check())
		proposals, refusals := Propose(n)
		if len(proposals)+len(refusals) == 0 {
			t.Fatal("neither a proposal nor a reason")
		}
		for _, p := range proposals {
			use(t, p.Layout, n)
			end := time.Unix(n.Epoch.Unix()+int64(n.Years*yearNanoseconds/1e9), 0)
			switch {
			case p.Nodes < n.Nodes:
				t.Errorf("%s: %d nodes", p.Name, p.Nodes)
			case n.Datacenters > 1 && (uint64(1)<<p.Layout.Bits("datacenter") < n.Datacenters ||
				n.Datacenters<<p.Layout.Bits("worker") < n.Nodes):
				t.Errorf("%s: %v for %d data centers", p.Name, p.Layout, n.Datacenters)
			case uint64(1)<<p.Layout.Bits(snowfence.FieldScatter) < n.Scatter ||
				uint64(1)<<p.Layout.Bits(snowfence.FieldTag) < n.Tags:
				t.Errorf("%s: %v for %d ranges and %d tags", p.Name, p.Layout, n.Scatter, n.Tags)
			case p.PerNodePerSecond*float64(n.Nodes) < n.Rate*(1-1e-9):
				t.Errorf("%s: the nodes asked for make %v IDs a second", p.Name, p.PerNodePerSecond*float64(n.Nodes))
			case p.Until.Before(end):
				t.Errorf("%s: ends at %v, before %v", p.Name, p.Until, end)
			case n.JSSafe && p.Layout.Width() > 53:
				t.Errorf("%s: IDs pass 2^53", p.Name)
			}
			if _, negative := p.Layout.NegativeFrom(); negative {
				t.Errorf("%s: IDs turn negative", p.Name)
			}
		}
	})
}

// plan told people to divide bits who needed nothing but the layout that
// every namespace has.
func TestDefaultIsProposedWhereItFits(t *testing.T) {
	at := func(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
	enough := Need{Rate: 20000, Nodes: 200, Years: 50, Epoch: at(2026)}
	for name, c := range map[string]struct {
		change func(*Need)
		fits   bool
	}{
		"a usual need":        {func(*Need) {}, true},
		"all nodes":           {func(n *Need) { n.Nodes = 1024 }, true},
		"a node more":         {func(n *Need) { n.Nodes = 1025 }, false},
		"the whole rate":      {func(n *Need) { n.Nodes, n.Rate = 1, 4096000 }, true},
		"an ID more":          {func(n *Need) { n.Nodes, n.Rate = 1, 4096001 }, false},
		"to the last year":    {func(n *Need) { n.Years = 68 }, true},
		"a year too many":     {func(n *Need) { n.Years = 69 }, false},
		"from its epoch":      {func(n *Need) { n.Epoch = at(2025) }, true},
		"from before it":      {func(n *Need) { n.Epoch = at(2024) }, false},
		"safe for JavaScript": {func(n *Need) { n.JSSafe = true }, false},
	} {
		n := enough
		c.change(&n)
		list, _ := Propose(n)
		var where []int
		for i, p := range list {
			if p.Layout.Equal(snowfence.Default()) {
				where = append(where, i)
			}
		}
		if fits := len(where) == 1 && where[0] == 0 && list[0].Name == "snowfence"; fits != c.fits || len(where) > 1 {
			t.Errorf("%s: the default layout is proposed at %v", name, where)
		}
	}
}

// use makes IDs of a layout in the middle of the time it is needed for.
func use(t *draw.T, l snowfence.Layout, n Need) {
	s := tests.Must(snowfence.NewScheme(l))
	// a generator's clock counts nanoseconds from the epoch, in 63 bits
	sec := int64(min(n.Years, 280) * yearNanoseconds / 1e9 / 2)
	now := time.Unix(n.Epoch.Unix()+sec, 0)
	g, err := snowfence.New(snowfence.Config{
		Fence: snowfence.Unguarded(s, s.Nodes()-1), Time: func() (time.Time, time.Duration) { return now, 0 },
	})
	if err != nil {
		t.Fatalf("%s: %v", l, err)
	}
	id, err := g.TryNext()
	if err != nil {
		t.Fatalf("%s at %v: %v", l, now, err)
	}
	parts, err := s.Decode(id)
	if err != nil || id < 0 || n.JSSafe && id >= 1<<53 || parts.Node != s.Nodes()-1 || parts.Tick != l.TickOf(now) {
		t.Errorf("%s: made %d, which is %+v, %v", l, id, parts, err)
	}
	tests.NoError(t, g.Close())
}

// Figures of the widest layouts are as positive as others'.
func TestNoFigureIsNegative(t *testing.T) {
	var specs []string
	for seq := 1; seq <= 63; seq++ {
		specs = append(specs, fmt.Sprintf("time=1,seq=%d,tick=1us", seq))
	}
	for bits := 1; bits <= 63; bits++ {
		specs = append(specs, fmt.Sprintf("time=%d", bits), fmt.Sprintf("time=%d,node=%d", bits, 64-bits),
			fmt.Sprintf("time=%d,seq=%d,tick=1us", bits, 64-bits), fmt.Sprintf("time=1,node=%d,seq=%d", bits, 63-bits))
	}
	now := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	valid := 0
	for _, spec := range specs {
		l, err := snowfence.ParseLayout(spec)
		if err != nil {
			continue // wider than a layout may be
		}
		valid++
		s := Of(l, now)
		if s.PerTick < 1 || s.PerNodePerSecond <= 0 || s.PerSecond <= 0 || s.Nodes < 1 || s.YearsLeft < 0 ||
			s.Digits < 1 || s.MostDigits < s.Digits || s.MostDigits > 19 || s.EndOfLife.Before(s.Epoch) {
			t.Errorf("%s: %+v", spec, s)
		}
	}
	if valid < 200 {
		t.Errorf("only %d of %d layouts are valid", valid, len(specs))
	}
}

// Servers that sublet nodes need more of them than there are holders: a
// fifth stays free, and the holders of one that dies take others.
func TestNodesForSubleases(t *testing.T) {
	for _, c := range []struct {
		servers uint64
		node    int // bits for 1,000 holders
	}{{0, 10}, {1, 12}, {2, 11}, {1000, 11}} {
		epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		n := Need{Rate: 1000, Nodes: 1000, Servers: c.servers, Years: 50, Epoch: epoch}
		if s := n.smallest(time.Millisecond); s.node != c.node {
			t.Errorf("%d servers: %d bits of node, want %d", c.servers, s.node, c.node)
		}
		if l := snowfence.Default(); n.met(l) != (c.servers == 0) {
			t.Errorf("%d servers: 1,024 nodes are enough: %v", c.servers, n.met(l))
		}
	}
}
