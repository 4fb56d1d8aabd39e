package plan

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/draw"
)

func layout(t *testing.T, spec string) snowfence.Layout {
	t.Helper()
	l, err := snowfence.ParseLayout(spec)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The lengths say when the first ID of so many digits can be made: the tick before has none.
func TestLengths(t *testing.T) {
	for _, spec := range []string{
		"twitter", "sonyflake", "drift", "discord", "baidu", "time=3,seq=1", "time=53",
		"time=40,seq=13",
	} {
		l := layout(t, spec)
		s, err := snowfence.NewScheme(l)
		if err != nil {
			t.Fatal(err)
		}
		highest := func(tick int64) snowfence.ID {
			id, err := s.Compose(snowfence.Parts{
				Tick: tick, Node: s.Nodes() - 1, Sequence: 1<<l.Bits(snowfence.FieldSequence) - 1,
				Rollback: 1<<l.Bits(snowfence.FieldRollback) - 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		list := Of(l, time.Now()).Lengths
		for i, e := range list {
			tick := l.TickOf(e.From)
			if got := len(snowfence.Decimal.Encode(highest(tick))); got < e.Digits {
				t.Errorf("%s: %d digits from tick %d, but its longest ID has %d", spec, e.Digits, tick, got)
			}
			if i == 0 && tick != 0 {
				t.Errorf("%s: the first length begins at tick %d", spec, tick)
			}
			if i > 0 && tick > 0 {
				if got := len(snowfence.Decimal.Encode(highest(tick - 1))); got >= e.Digits {
					t.Errorf("%s: tick %d has an ID of %d digits already", spec, tick-1, got)
				}
			}
		}
		last := list[len(list)-1].Digits
		top := s.MaxTick()
		if l.Width() == 64 {
			top /= 2
		}
		if l.EndOfLife().Year() == 9999 {
			continue // the lengths of later years are not listed
		}
		if want := len(snowfence.Decimal.Encode(highest(top))); last != want {
			t.Errorf("%s: at most %d digits, want %d", spec, last, want)
		}
	}
}

// A layout can last longer than times are written.
func TestYearsBeyond9999(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for spec, want := range map[string]struct {
		year int64
		left float64
	}{
		"twitter":                               {2080, 53.63},
		"drift":                                 {73376, 71349.94}, // 2^51 ms are 71,357 years
		"time=62,tick=1h,epoch=2025-01-01":      {526098644330494, 526098644328468},
		"time=62,tick=100000h,epoch=2025-01-01": {1 << 60, 5.26098644328e19},
	} {
		s := Of(layout(t, spec), now)
		if s.EndYear != want.year || math.Abs(s.YearsLeft/want.left-1) > 1e-6 || s.EndOfLife.Year() > 9999 {
			t.Errorf("%s: ends in %d, in %f years, written as %v; want %+v", spec, s.EndYear, s.YearsLeft,
				s.EndOfLife, want)
		}
	}
}

// Every proposal meets the need; where there is none, the smallest layout of no tick does.
func TestProposalsMeetTheNeed(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		n := Need{
			Rate:   math.Exp2(t.Float(-10, 59.7)),
			Nodes:  uint64(math.Exp2(t.Float(0, 62))),
			Years:  math.Exp2(t.Float(-40, 12.7)),
			JSSafe: t.Bool(),
			Epoch:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		}
		if n.Datacenters = uint64(math.Exp2(t.Float(-4, 8))); n.Datacenters > n.Nodes {
			n.Datacenters = n.Nodes
		}
		if err := n.Check(); err != nil {
			t.Fatal(err)
		}
		proposals, refusals := Propose(n)
		if len(proposals)+len(refusals) == 0 {
			t.Fatal("neither a proposal nor a reason")
		}
		for _, p := range proposals {
			use(t, p.Layout, n)
			end := time.Unix(n.Epoch.Unix()+int64(n.Years*year/1e9), 0)
			switch {
			case p.Nodes < n.Nodes:
				t.Errorf("%s: %d nodes", p.Name, p.Nodes)
			case n.Datacenters > 1 && (uint64(1)<<p.Layout.Bits("datacenter") < n.Datacenters ||
				n.Datacenters<<p.Layout.Bits("worker") < n.Nodes):
				t.Errorf("%s: %v for %d data centers", p.Name, p.Layout, n.Datacenters)
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

// plan told people to divide bits who needed nothing but the layout that every namespace has.
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
	s, err := snowfence.NewScheme(l)
	if err != nil {
		t.Fatal(err)
	}
	// a generator's clock counts nanoseconds from the epoch, in 63 bits
	sec := int64(min(n.Years, 280) * year / 1e9 / 2)
	now := time.Unix(n.Epoch.Unix()+sec, 0)
	g, err := snowfence.New(snowfence.Config{
		Fence: snowfence.Unguarded(s, s.Nodes()-1),
		Time:  func() (time.Time, time.Duration) { return now, 0 },
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
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// One shape after another that no generator could use was proposed once: time bits alone,
// and a sequence of more than its word holds.
func TestProposalsAtTheLimits(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	list, _ := Propose(Need{Rate: 1, Nodes: 1, Years: 50, Epoch: epoch})
	if len(list) < 2 || list[1].Layout.Bits(snowfence.FieldTime) != 62 {
		t.Errorf("%+v", list)
	}
	for _, n := range []Need{{Rate: 1e18, Nodes: 1, Years: 1e-9, Epoch: epoch}, {
		Rate: 1, Nodes: 1 << 62,
		Years: 1e-9, Epoch: epoch,
	}} {
		list, refused := Propose(n)
		if len(list)+len(refused) == 0 {
			t.Errorf("%+v: no answer", n)
		}
		for _, p := range list {
			if err := p.Layout.Validate(); err != nil {
				t.Errorf("%+v: %v", n, err)
			}
		}
	}
}

// Figures of the widest layouts are as positive as others'.
func TestNoFigureIsNegative(t *testing.T) {
	var specs []string
	for seq := 1; seq <= 63; seq++ {
		specs = append(specs, fmt.Sprintf("time=1,seq=%d,tick=1us", seq))
	}
	for bits := 1; bits <= 63; bits++ {
		specs = append(specs, fmt.Sprintf("time=%d", bits), fmt.Sprintf("time=%d,node=%d", bits, 64-bits),
			fmt.Sprintf("time=%d,seq=%d,tick=1us", bits, 64-bits),
			fmt.Sprintf("time=1,node=%d,seq=%d", bits, 63-bits))
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
			len(s.Lengths) == 0 || s.EndOfLife.Before(s.Epoch) {
			t.Errorf("%s: %+v", spec, s)
		}
		for _, length := range s.Lengths {
			if length.Digits < 1 || length.Digits > 19 || length.From.Before(s.Epoch) {
				t.Errorf("%s: %+v", spec, length)
			}
		}
	}
	if valid < 200 {
		t.Errorf("only %d of %d layouts are valid", valid, len(specs))
	}
}

func TestNeedCheck(t *testing.T) {
	for _, n := range []Need{
		{Rate: 0, Nodes: 1, Years: 1},
		{Rate: math.NaN(), Nodes: 1, Years: 1},
		{Rate: math.Inf(1), Nodes: 1, Years: 1},
		{Rate: 1, Nodes: 0, Years: 1},
		{Rate: 1, Nodes: 1 << 63, Years: 1},
		{Rate: 1, Nodes: 1, Years: 0},
		{Rate: 1, Nodes: 1, Years: 1e9},
		{Rate: 1e300, Nodes: 1, Years: 1},
		{Rate: 1, Nodes: 1, Years: 1, Epoch: time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if n.Check() == nil {
			t.Errorf("%+v was accepted", n)
		}
	}
}

// Servers that sublet nodes need more of them than there are holders: a fifth stays free, and the
// holders of one that dies take others.
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
