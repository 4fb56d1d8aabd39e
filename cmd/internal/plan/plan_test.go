package plan

import (
	"math"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"pgregory.net/rapid"
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
	for _, spec := range []string{"twitter", "sonyflake", "drift", "discord", "baidu", "time=3,seq=1", "time=53", "time=40,seq=13"} {
		l := layout(t, spec)
		s, err := snowfence.NewScheme(l)
		if err != nil {
			t.Fatal(err)
		}
		highest := func(tick int64) snowfence.ID {
			return snowfence.Must(s.ComposeParts(snowfence.Parts{
				Tick: tick, Node: s.Nodes() - 1, Sequence: 1<<l.Bits(snowfence.FieldSequence) - 1, Rollback: 1<<l.Bits(snowfence.FieldRollback) - 1,
			}))
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

// Every proposal meets the need; where there is none, the smallest layout of no tick does.
func TestProposalsMeetTheNeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := Need{
			Rate:   math.Exp2(rapid.Float64Range(-3, 40).Draw(t, "rate")),
			Nodes:  uint64(math.Exp2(rapid.Float64Range(0, 20).Draw(t, "nodes"))),
			Years:  rapid.Float64Range(0.1, 500).Draw(t, "years"),
			JSSafe: rapid.Bool().Draw(t, "js"),
			Epoch:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		}
		if err := n.Check(); err != nil {
			t.Fatal(err)
		}
		proposals, refusals := Propose(n)
		if len(proposals)+len(refusals) == 0 {
			t.Fatal("neither a proposal nor a reason")
		}
		for _, p := range proposals {
			if err := p.Layout.Validate(); err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
			end := time.Unix(n.Epoch.Unix()+int64(n.Years*year/1e9), 0)
			switch {
			case p.Nodes < n.Nodes:
				t.Errorf("%s: %d nodes", p.Name, p.Nodes)
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

func TestNeedCheck(t *testing.T) {
	for _, n := range []Need{
		{Rate: 0, Nodes: 1, Years: 1},
		{Rate: math.NaN(), Nodes: 1, Years: 1},
		{Rate: math.Inf(1), Nodes: 1, Years: 1},
		{Rate: 1, Nodes: 0, Years: 1},
		{Rate: 1, Nodes: 1 << 63, Years: 1},
		{Rate: 1, Nodes: 1, Years: 0},
		{Rate: 1, Nodes: 1, Years: 1e9},
	} {
		if n.Check() == nil {
			t.Errorf("%+v was accepted", n)
		}
	}
}
