package show

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

var changeAt = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

// ms is a time some milliseconds after the change.
func ms(n int) time.Time { return changeAt.Add(time.Duration(n) * time.Millisecond) }

// walk checks a list of changes, and returns the last one.
func walk(t *testing.T, reserved [2]bool, from string, steps ...Step) *Proof {
	t.Helper()
	list := must(Changes(must(NewView(from)), steps, reserved[0], reserved[1]))
	p := list[len(list)-1]
	tests.NoError(t, p.Check())
	if x := p.Collision; x != nil { // either side makes the ID
		for v, parts := range map[*View]snowfence.Parts{p.by.View: x.From, p.New.View: x.To} {
			if id, err := v.Scheme.Compose(parts); err != nil || id != x.ID {
				t.Errorf("%+v makes %d, want %d: %v", parts, id, x.ID, err)
			}
		}
		if x.To.Time.Before(p.New.Begin) || !x.From.Time.Before(p.by.End) {
			t.Errorf("%+v is not in the time of its layout", x)
		}
	}
	return p
}

// The rules that people follow by hand: the epoch only gets older, no width
// shrinks, and if one does the sum grows. They are neither enough nor
// necessary.
func TestChangesAgainstHandRules(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		safe, ordered  bool
	}{
		{"same layout", "twitter", "twitter", true, true},
		{
			"all widths grow, but the time moves up by less than the years grow",
			"time=41,seq=12,node=10,epoch=2025-01-01", "time=42,seq=12,node=10,epoch=2025-01-01,tick=10ms",
			false, false,
		},
		{
			"an older epoch, and a sequence that grew at the cost of the node, with the sum one larger",
			"time=39,node=16,seq=8,epoch=2020-01-01,tick=10ms", "time=39,node=10,seq=15,epoch=2019-12-31,tick=100ms",
			false, false,
		},
		{
			"a younger epoch, made up for by more bits below the time",
			"time=41,node=10,seq=11,epoch=2025-01-01", "time=41,node=10,seq=12,epoch=2025-06-01",
			true, true,
		},
		{
			"bits move from the node to the sequence and the sum stays",
			"time=41,node=10,seq=12,epoch=2025-01-01", "time=41,node=6,seq=16,epoch=2025-01-01",
			true, true,
		},
		{
			"a node shrinks and the sum with it, on sequence numbers that the old layout never used",
			"time=41,node=10,seq=12,first=8,epoch=2025-01-01", "time=41,node=7,seq=12,last=7,epoch=2025-01-01",
			true, false,
		},
		{"presets", "twitter", "bwmarrin", true, true},
		{"presets", "twitter", "sonyflake", false, false},
		{"presets", "sonyflake", "twitter", true, true},
		{"presets", "sonyflake-v2", "twitter", true, true},
		{"presets", "twitter", "instagram", true, true},
		{"presets", "instagram", "twitter", false, false},
		{"presets", "snowfence", "rollback", true, true},
	} {
		p := walk(t, [2]bool{}, c.from, Step{must(NewView(c.to)), changeAt, changeAt})
		if (p.Collision == nil) != c.safe || p.Ordered() != c.ordered {
			t.Errorf("%s: %s to %s: collision %+v, %d after %d; want safe %t, ordered %t", c.name, c.from, c.to,
				p.Collision, p.FirstNew, p.LastOld, c.safe, c.ordered)
		}
	}
}

// Each of two changes is safe by itself, and together they repeat the
// layout before the last: its near-copy, thirty seconds younger, is apart
// from the one between.
func TestChangesCountAllLayoutsBefore(t *testing.T) {
	const (
		a = "time=41,node=4,seq=5,epoch=2025-01-01,last=15"
		b = "time=41,node=4,seq=5,epoch=2025-01-01,first=16"
		c = "time=41,node=4,seq=5,epoch=2025-01-01T00:00:30Z,last=15"
	)
	none, first := [2]bool{}, Step{must(NewView(b)), ms(0), ms(0)}
	for _, pair := range [][2]string{{a, b}, {b, c}} {
		if p := walk(t, none, pair[0], Step{must(NewView(pair[1])), ms(0), ms(0)}); p.Collision != nil {
			t.Errorf("by itself the change is safe: %+v", p.Collision)
		}
	}
	p := walk(t, none, a, first, Step{must(NewView(c)), ms(10_000), ms(10_000)})
	if p.Collision == nil || p.by.View.Name != must(NewView(a)).Name || !p.by.End.Equal(ms(0)) {
		t.Errorf("the walk repeats IDs of the first layout: %+v", p)
	}
	for name, to := range map[string]Step{
		"above all that the first one made": {must(NewView(c)), ms(30_000), ms(30_000)},
		"the layout itself":                 {must(NewView(a)), ms(10_000), ms(10_000)},
	} {
		if p := walk(t, none, a, first, to); p.Collision != nil {
			t.Errorf("%s: %+v", name, p.Collision)
		}
	}
}

// Old layouts count up to their floor. With reserved numbers, any earlier
// tick counts too; new ones begin with the change.
func TestChangesWithReservedNumbers(t *testing.T) {
	const drift, low = "drift", "time=51,node=6,seq=6,epoch=2020-02-19T18:20:02Z,tick=1ms,first=1,last=4"
	for name, c := range map[string]struct {
		from, to  string
		reserved  [2]bool
		at, floor int
		want      int // tick of the lowest ID; 1 for none
	}{
		"not said":               {drift, low, [2]bool{}, -9, 0, 1},
		"up to the floor":        {drift, low, [2]bool{true}, -9, 0, -9},
		"the last tick":          {drift, low, [2]bool{true}, -1, 0, -1},
		"none from the floor on": {drift, low, [2]bool{true}, 0, 0, 1},
		"new ones":               {low, drift, [2]bool{false, true}, -1, 0, -1},
		"new ones, above":        {low, drift, [2]bool{false, true}, 0, 0, 1},
		"not said of new ones":   {low, drift, [2]bool{}, -1, 0, 1},
		"both":                   {drift, drift, [2]bool{true, true}, -1, 0, -1},
	} {
		p := walk(t, c.reserved, c.from, Step{must(NewView(c.to)), ms(c.at), ms(c.floor)})
		if x := p.Collision; (x == nil) != (c.want == 1) || x != nil && !x.From.Time.Equal(ms(c.want)) {
			t.Errorf("%s: %+v; want an ID of %d ms", name, x, c.want)
		}
	}
	p := walk(t, [2]bool{false, true}, drift, Step{must(NewView(drift)), ms(-10), ms(-10)},
		Step{must(NewView(low)), ms(-1), ms(0)})
	if p.Collision == nil {
		t.Error("the layout in the middle was a new one, with reserved numbers")
	}
}

// A safe change says so if reserved numbers of the old layouts would make
// it unsafe.
func TestChangesMeetReservedNumbers(t *testing.T) {
	old := must(NewView("drift"))
	to := must(NewView("time=51,node=6,seq=6,epoch=2020-02-19T18:20:02Z,tick=1ms,first=1,last=4"))
	for at, want := range map[int]bool{-1: true, 0: false} {
		if p := walk(t, [2]bool{}, old.Name, Step{to, ms(at), ms(0)}); p.Collision != nil || p.meetsReserved() != want {
			t.Errorf("at %d: %+v, meets reserved numbers: %t", at, p.Collision, !want)
		}
	}
}

// In a layout of 64 bits the later ticks are negative IDs: the last old ID
// is the highest of the signed numbers, whichever ticks were used.
func TestLastIDOfALayoutWithASign(t *testing.T) {
	for _, spec := range []string{
		"time=3,node=31,seq=30", "scatter=2,time=3,node=31,seq=28", "tag=2,node=29,time=3,seq=30",
	} {
		lastIDs(t, must(NewView(spec+",tick=1s,epoch=2025-01-01")))
	}
	if (&Proof{FirstNew: 7, LastOld: 7}).Ordered() || !(&Proof{FirstNew: 8, LastOld: 7}).Ordered() {
		t.Error("new IDs are in order where the first one is above the last old one")
	}
	// The first new ID is negative, whatever its time.
	step := Step{To: must(NewView("scatter=2,time=40,node=10,seq=12")), At: changeAt, Floor: changeAt}
	list := must(Changes(must(NewView("twitter")), []Step{step}, false, false))
	if err := list[0].Check(); err != nil || list[0].Ordered() || list[0].FirstNew >= 0 {
		t.Errorf("the first new ID is %d, %v", list[0].FirstNew, err)
	}
}

func lastIDs(t *testing.T, v *View) {
	to := must(NewView("twitter"))
	s, l := v.Scheme, v.Layout
	most := func(field string) int64 { return 1<<l.Bits(field) - 1 }
	for first := int64(0); first <= s.MaxTick(); first++ {
		want := snowfence.ID(math.MinInt64)
		for last := first; last <= s.MaxTick(); last++ {
			for _, above := range []int64{0, 1} { // with and without the sign bit
				id := must(s.Compose(snowfence.Parts{
					Tick: last, Node: most(snowfence.FieldNode), Sequence: l.Last,
					Scatter: most(snowfence.FieldScatter) >> above, Tag: most(snowfence.FieldTag) >> above,
				}))
				want = max(want, id)
			}
			old := must(NewUse(v, l.TimeOf(first), l.TimeOf(last+1)))
			p := &Proof{Old: []Use{old}}
			p.New = must(NewUse(to, changeAt, time.Time{}))
			if err := p.Check(); err != nil || p.LastOld != want {
				t.Errorf("%s: ticks %d to %d: last old is %d, want %d; %v", l, first, last, p.LastOld, want, err)
			}
		}
	}
}

func TestChangesThatCannotBeProven(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		want     error
	}{
		"from encrypted": {"randflake", "twitter", snowfence.ErrUnproven},
		"to encrypted":   {"twitter", "randflake", snowfence.ErrUnproven},
		"new is over":    {"twitter", "baidu", snowfence.ErrLifetime},
	} {
		list := must(Changes(must(NewView(c.from)), []Step{{must(NewView(c.to)), changeAt, changeAt}}, false, false))
		if err := list[0].Check(); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if _, err := Changes(must(NewView("twitter")), []Step{
		{must(NewView("drift")), ms(1), ms(1)}, {must(NewView("twitter")), ms(0), ms(0)},
	}, false, false); err == nil {
		t.Error("changes in the wrong order")
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }
