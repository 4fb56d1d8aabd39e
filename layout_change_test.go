package snowfence

import (
	"errors"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/draw"
)

// smallLayout draws a layout of few bits with any order of fields, so that all its IDs
// can be listed.
func smallLayout(t *draw.T) Layout {
	names := draw.Order(t, []string{"node", "seq", "rollback", "rack"})
	l := Layout{
		Epoch:  time.Unix(1_700_000_000+t.Range(-20, 20), 0),
		Tick:   time.Duration(t.Int(1, 4)) * time.Second,
		Fields: []Field{{FieldTime, t.Int(1, 5)}},
	}
	for _, name := range names {
		if bits := t.Int(0, 2); bits > 0 {
			if name == "seq" {
				name = FieldSequence
			}
			l.Fields = append(l.Fields, Field{name, bits})
		}
	}
	top := int64(1)<<l.Bits(FieldSequence) - 1
	l.Last = t.Range(0, top)
	if l.Last == 0 {
		l.Last = top
	}
	l.First = t.Range(0, l.Last)
	return l
}

// idsOf lists all IDs of a layout by composing them one by one: the slow oracle of Change.Check.
func idsOf(t *draw.T, l Layout, nodes NodeRange, keep func(start time.Time) bool) map[ID]Parts {
	return numbersOf(t, l, nodes, l.First, l.Last, keep)
}

// reservedOf adds those with the numbers below the first.
func reservedOf(t *draw.T, ids map[ID]Parts, l Layout, nodes NodeRange, keep func(start time.Time) bool) {
	maps.Copy(ids, numbersOf(t, l, nodes, 0, l.First-1, keep))
}

func numbersOf(t *draw.T, l Layout, nodes NodeRange, first, last int64, keep func(time.Time) bool) map[ID]Parts {
	s, err := NewScheme(l)
	if err != nil {
		t.Fatal(err)
	}
	l = s.Layout()
	if nodes == (NodeRange{}) {
		nodes.Until = s.Nodes()
	}
	ids := map[ID]Parts{}
	for tick := int64(0); tick <= s.MaxTick(); tick++ {
		if !keep(l.TimeOf(tick)) {
			continue
		}
		for node := nodes.From; node < nodes.Until; node++ {
			for seq := first; seq <= last; seq++ {
				for roll := int64(0); roll < 1<<l.Bits(FieldRollback); roll++ {
					p := Parts{Tick: tick, Time: l.TimeOf(tick), Node: node, Sequence: seq, Rollback: roll}
					id, err := s.Compose(p)
					if err != nil {
						t.Fatal(err)
					}
					ids[id] = p
				}
			}
		}
	}
	return ids
}

func drawNodes(t *draw.T, l Layout) NodeRange {
	if t.Bool() {
		return NodeRange{}
	}
	n := int64(1) << l.Bits(FieldNode)
	from := t.Range(0, n-1)
	return NodeRange{from, t.Range(from+1, n)}
}

func TestChangeAgainstAllIDs(t *testing.T) {
	var refused, proven int
	draw.Check(t, func(t *draw.T) {
		c := Change{From: smallLayout(t), To: smallLayout(t)}
		c.At = time.Unix(1_700_000_000, t.Range(-30, 120)*int64(time.Second/2))
		if t.Bool() {
			c.Floor = c.At.Add(time.Duration(t.Range(-20, 20)) * time.Second / 2)
		}
		c.FromNodes, c.ToNodes = drawNodes(t, c.From), drawNodes(t, c.To)
		floor := c.Floor
		if floor.IsZero() {
			floor = c.At
		}
		if t.Bool() {
			c.Since = floor.Add(-time.Duration(t.Range(0, 40)) * time.Second / 2)
		}
		old := idsOf(t, c.From, c.FromNodes, func(start time.Time) bool {
			return !start.Before(c.Since) && start.Before(floor)
		})
		if c.FromReserved = t.Bool(); c.FromReserved {
			reservedOf(t, old, c.From, c.FromNodes, func(start time.Time) bool { return start.Before(floor) })
		}
		sides := []map[ID]Parts{old}
		for range t.Int(0, 2) {
			e := Era{Layout: smallLayout(t)}
			e.Until = time.Unix(1_700_000_000, t.Range(-30, 120)*int64(time.Second/2))
			if t.Bool() {
				e.From = e.Until.Add(-time.Duration(t.Range(-1, 40)) * time.Second / 2)
			}
			e.Reserved = t.Bool()
			c.Past = append(c.Past, e)
			ids := idsOf(t, e.Layout, NodeRange{}, func(start time.Time) bool {
				return !start.Before(e.From) && start.Before(e.Until)
			})
			if e.Reserved {
				reservedOf(t, ids, e.Layout, NodeRange{}, func(start time.Time) bool { return start.Before(e.Until) })
			}
			sides = append(sides, ids)
		}
		after := func(start time.Time) bool { return !start.Before(c.At) }
		fresh := idsOf(t, c.To, c.ToNodes, after)
		if c.ToReserved = t.Bool(); c.ToReserved {
			reservedOf(t, fresh, c.To, c.ToNodes, after)
		}

		got, err := c.Check()
		if len(fresh) == 0 {
			if !errors.Is(err, ErrLifetime) {
				t.Fatalf("no ID is left in B; got %v, %v", got, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		lowest, last, first := ID(-1), ID(math.MinInt64), ID(math.MaxInt64)
		which := 0
		for i, old := range sides {
			for id := range old {
				if _, both := fresh[id]; both && (lowest < 0 || id < lowest) {
					lowest, which = id, i
				}
				last = max(last, id)
			}
		}
		for id := range fresh {
			first = min(first, id)
		}
		switch {
		case lowest < 0 && got.Collision != nil:
			t.Fatalf("no ID is in both, but got %+v", *got.Collision)
		case lowest >= 0 && got.Collision == nil:
			t.Fatalf("%d is in both: %+v and %+v", lowest, sides[which][lowest], fresh[lowest])
		case lowest >= 0 && (got.Collision.ID != lowest ||
			got.Collision.From != sides[got.Collision.Past][lowest] || got.Collision.To != fresh[lowest]):
			t.Fatalf("got %+v, want the lowest: %d, %+v, %+v",
				*got.Collision, lowest, sides[which][lowest], fresh[lowest])
		}
		if got.LastOld != last || got.FirstNew != first {
			t.Fatalf("last old and first new are %d and %d, want %d and %d", got.LastOld, got.FirstNew, last, first)
		}
		if lowest < 0 {
			proven++
		} else {
			refused++
		}
	})
	if proven+refused > 50 && (proven == 0 || refused == 0) { // few draws may show one outcome only
		t.Errorf("the layouts drawn do not show both outcomes: %d proven, %d refused", proven, refused)
	}
}

func mustLayout(t *testing.T, spec string) Layout {
	t.Helper()
	l, err := ParseLayout(spec)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The rules people follow by hand: the epoch only gets older, no width shrinks, and if
// one does the sum grows.
func TestChangeHandRules(t *testing.T) {
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, from, to string
		follows, safe  bool
	}{
		{
			"same layout", "twitter", "twitter",
			true, true,
		},
		{
			"not enough: all widths grow, but the time moves up by less than the years grow",
			"time=41,seq=12,node=10,epoch=2025-01-01", "time=42,seq=12,node=10,epoch=2025-01-01,tick=10ms",
			true, false,
		},
		{
			"not enough: an older epoch, and a sequence that grew at the cost of the node, with the sum one larger",
			"time=39,node=16,seq=8,epoch=2020-01-01,tick=10ms", "time=39,node=10,seq=15,epoch=2019-12-31,tick=100ms",
			true, false,
		},
		{
			"not necessary: a younger epoch, made up for by more bits below the time",
			"time=41,node=10,seq=11,epoch=2025-01-01", "time=41,node=10,seq=12,epoch=2025-06-01",
			false, true,
		},
		{
			"not necessary: bits move from the node to the sequence and the sum stays",
			"time=41,node=10,seq=12,epoch=2025-01-01", "time=41,node=6,seq=16,epoch=2025-01-01",
			false, true,
		},
		{
			"not necessary: a node shrinks and the sum with it, on sequence numbers the old layout never used",
			"time=41,node=10,seq=12,first=8,epoch=2025-01-01", "time=41,node=7,seq=12,last=7,epoch=2025-01-01",
			false, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := mustLayout(t, c.from), mustLayout(t, c.to)
			if got := followsHandRules(a, b); got != c.follows {
				t.Errorf("the pair follows the hand rules: %v, want %v", got, c.follows)
			}
			v, err := Change{From: a, To: b, At: at}.Check()
			if err != nil {
				t.Fatal(err)
			}
			if (v.Collision == nil) != c.safe {
				t.Errorf("safe is %v, want %v (%+v)", v.Collision == nil, c.safe, v.Collision)
			}
			if v.Collision != nil {
				checkCollision(t, a, b, at, *v.Collision)
			}
		})
	}
}

func followsHandRules(a, b Layout) bool {
	shrinks := false
	for _, name := range []string{FieldTime, FieldNode, FieldSequence, FieldRollback} {
		shrinks = shrinks || b.Bits(name) < a.Bits(name)
	}
	return !b.Epoch.After(a.Epoch) && (!shrinks || b.Width() > a.Width())
}

// checkCollision makes the ID of a counter-example on either side, as a generator would.
func checkCollision(t *testing.T, a, b Layout, at time.Time, c Collision) {
	t.Helper()
	for _, side := range []struct {
		layout Layout
		parts  Parts
		inTime bool
	}{{a, c.From, c.From.Time.Before(at)}, {b, c.To, !c.To.Time.Before(at)}} {
		s, err := NewScheme(side.layout)
		if err != nil {
			t.Fatal(err)
		}
		if id := must(s.Compose(side.parts)); id != c.ID || !side.inTime {
			t.Errorf("%+v makes %d, want %d, and lies in its time: %v", side.parts, id, c.ID, side.inTime)
		}
	}
}

func TestChangeOfPresets(t *testing.T) {
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		from, to      string
		safe, ordered bool
	}{
		{"twitter", "bwmarrin", true, true},
		{"twitter", "sonyflake", false, false},
		{"sonyflake", "twitter", true, true},
		{"sonyflake-v2", "twitter", true, true},
		{"twitter", "instagram", true, true},
		{"instagram", "twitter", false, false},
		{"snowfence", "rollback", true, true},
	} {
		v, err := Change{From: mustLayout(t, c.from), To: mustLayout(t, c.to), At: at}.Check()
		if err != nil {
			t.Fatal(err)
		}
		if (v.Collision == nil) != c.safe || v.Ordered() != c.ordered {
			t.Errorf("%s to %s: collision %+v, ordered %v (%d, %d); want safe %v, ordered %v",
				c.from, c.to, v.Collision, v.Ordered(), v.LastOld, v.FirstNew, c.safe, c.ordered)
		}
	}
}

func TestChangeFloorAhead(t *testing.T) {
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	c := Change{From: MustLayout("twitter"), To: MustLayout("bwmarrin"), At: at, Floor: at.Add(time.Millisecond)}
	v, err := c.Check()
	if err != nil {
		t.Fatal(err)
	}
	if v.Collision == nil || !v.Collision.From.Time.Equal(at) {
		t.Errorf("the old layout may have run ahead into the first millisecond of the new one; got %+v", v.Collision)
	}
	c.FromNodes, c.ToNodes = NodeRange{0, 512}, NodeRange{512, 1024}
	if v, err = c.Check(); err != nil || v.Collision != nil {
		t.Errorf("with nodes apart nothing can collide; got %+v, %v", v.Collision, err)
	}
}

// Each of two changes is safe by itself, and together they repeat the layout before the
// last: its near-copy, thirty seconds younger, is apart from the one between.
func TestTwoSafeChangesRepeatTheLayoutBeforeTheLast(t *testing.T) {
	begun := time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)
	a := mustLayout(t, "time=41,node=4,seq=5,epoch=2025-01-01,last=15")
	b := mustLayout(t, "time=41,node=4,seq=5,epoch=2025-01-01,first=16")
	c := mustLayout(t, "time=41,node=4,seq=5,epoch=2025-01-01T00:00:30Z,last=15")
	first, second := begun.Add(10*time.Second), begun.Add(20*time.Second)
	for _, step := range []Change{{From: a, To: b, At: first}, {From: b, To: c, At: second, Since: first}} {
		if v, err := step.Check(); err != nil || v.Collision != nil {
			t.Fatalf("by itself the change to %v is safe: %+v, %v", step.To, v.Collision, err)
		}
	}
	walk := Change{From: b, To: c, At: second, Since: first, Past: []Era{{Layout: a, From: begun, Until: first}}}
	v, err := walk.Check()
	if err != nil || v.Collision == nil || v.Collision.Past != 1 {
		t.Fatalf("the walk repeats IDs of the first layout: %+v, %v", v, err)
	}
	checkCollision(t, a, c, second, *v.Collision)

	// Ten seconds later the copy begins above all that the first layout made before the
	// first change.
	walk.At = first.Add(30 * time.Second)
	if v, err = walk.Check(); err != nil || v.Collision != nil {
		t.Errorf("the copy begins above the original's last ID: %+v, %v", v.Collision, err)
	}
	// The layout itself may come back.
	walk.To, walk.At = a, second
	if v, err = walk.Check(); err != nil || v.Collision != nil {
		t.Errorf("the same layout in later ticks: %+v, %v", v.Collision, err)
	}
}

// Whichever layout it is of, the lowest ID is shown, and each layout counts from its
// first tick to its last.
func TestChangeShowsTheLowestIDOfAllLayouts(t *testing.T) {
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	tick := func(n int) time.Time { return at.Add(time.Duration(n) * time.Millisecond) }
	l := MustLayout("twitter")
	for name, c := range map[string]struct {
		change Change
		past   int
		first  time.Time
	}{
		"it is of the one before":  {Change{From: l, Since: tick(9), Floor: tick(10), Past: []Era{{Layout: l, From: tick(3), Until: tick(4)}, {Layout: l, From: tick(5), Until: tick(6)}}}, 1, tick(3)},
		"it is of the first one":   {Change{From: l, Since: tick(9), Floor: tick(10), Past: []Era{{Layout: l, From: tick(5), Until: tick(6)}, {Layout: l, From: tick(3), Until: tick(4)}}}, 2, tick(3)},
		"it is of two, the later":  {Change{From: l, Since: tick(3), Floor: tick(4), Past: []Era{{Layout: l, From: tick(3), Until: tick(4)}, {Layout: l, From: tick(3), Until: tick(4)}}}, 0, tick(3)},
		"it is of the present one": {Change{From: l, Since: tick(2), Floor: tick(3), Past: []Era{{Layout: l, From: tick(5), Until: tick(6)}, {Layout: l, From: tick(3), Until: tick(4)}}}, 0, tick(2)},
	} {
		c.change.To, c.change.At = l, at
		v, err := c.change.Check()
		if err != nil || v.Collision == nil || v.Collision.Past != c.past || !v.Collision.From.Time.Equal(c.first) {
			t.Errorf("%s: %+v, %v", name, v.Collision, err)
		}
		c.change.At = tick(10)
		if v, err := c.change.Check(); err != nil || v.Collision != nil {
			t.Errorf("%s: above all of them, %+v, %v", name, v.Collision, err)
		}
	}
}

// After the clock stepped back, snow-drift makes IDs with the numbers 1 to 4, each in a lower tick
// than the one before: they can be older than the layout, and never younger than its last tick.
func TestIDsAfterAStepBackHaveNoFloor(t *testing.T) {
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	drift := MustLayout("drift")
	other := drift
	other.First, other.Last = 1, 4
	tick := func(n int) time.Time { return at.Add(time.Duration(n) * time.Millisecond) }
	for name, c := range map[string]struct {
		change Change
		past   bool
		want   time.Time // of the lowest ID that both can make; zero for none
	}{
		"nobody says so":            {change: Change{Floor: at, At: tick(-9)}},
		"up to the floor":           {change: Change{Floor: at, At: tick(-9), FromReserved: true}, want: tick(-9)},
		"the last tick":             {change: Change{Floor: at, At: tick(-1), FromReserved: true}, want: tick(-1)},
		"none from the floor on":    {change: Change{Floor: at, At: at, FromReserved: true}},
		"older than its layout":     {change: Change{Since: tick(-3), Floor: at, At: tick(-9), FromReserved: true}, want: tick(-9)},
		"of a layout before it":     {past: true, change: Change{Since: at, Floor: at, At: tick(-9), FromReserved: true}, want: tick(-9)},
		"that one made none itself": {past: true, change: Change{Since: at, Floor: at, At: tick(-9)}},
	} {
		c.change.From, c.change.To = drift, other
		if c.past {
			c.change.Past = []Era{{Layout: drift, From: tick(-2), Until: at, Reserved: c.change.FromReserved}}
			c.change.From, c.change.FromReserved = MustLayout("twitter"), false
		}
		v, err := c.change.Check()
		if err != nil || (v.Collision == nil) != c.want.IsZero() ||
			v.Collision != nil && !v.Collision.From.Time.Equal(c.want) {
			t.Errorf("%s: %+v, %v; want an ID of %v", name, v.Collision, err, c.want)
		}
	}
	// The numbers from first on have a floor, also where there are none below.
	for _, l := range []Layout{drift, MustLayout("twitter")} {
		v, err := Change{From: l, To: l, Since: tick(-3), Floor: at, At: tick(-9), FromReserved: true}.Check()
		if err != nil || v.Collision == nil || !v.Collision.From.Time.Equal(tick(-3)) {
			t.Errorf("%v: %+v, %v", l, v.Collision, err)
		}
	}
	// Our own generators make such numbers from the change on only.
	change := Change{From: other, To: drift, At: at}
	for _, reserved := range []bool{false, true} {
		for ahead, meet := range map[time.Duration]bool{0: false, time.Millisecond: reserved} {
			change.ToReserved, change.Floor = reserved, at.Add(ahead)
			v, err := change.Check()
			if err != nil || (v.Collision != nil) != meet || v.Collision != nil && !v.Collision.To.Time.Equal(at) {
				t.Errorf("reserved %t, %v ahead: %+v, %v", reserved, ahead, v.Collision, err)
			}
		}
	}
}

// In a layout of 64 bits the later ticks are negative IDs: the last old ID is the highest
// of the signed numbers, whichever ticks were used.
func TestLastIDOfALayoutWithASign(t *testing.T) {
	l := mustLayout(t, "time=3,node=31,seq=30,tick=1s,epoch=2025-01-01")
	s := must(NewScheme(l))
	at := l.Epoch.Add(time.Hour)
	for first := int64(0); first <= s.MaxTick(); first++ {
		want := ID(math.MinInt64)
		for last := first; last <= s.MaxTick(); last++ {
			want = max(want, must(s.Compose(Parts{Tick: last, Node: s.Nodes() - 1, Sequence: 1<<30 - 1})))
			v, err := Change{
				From: l, To: MustLayout("twitter"), At: at, Since: l.TimeOf(first),
				Floor: l.TimeOf(last + 1),
			}.Check()
			if err != nil || v.LastOld != want {
				t.Errorf("ticks %d to %d: last old is %d, want %d; %v", first, last, v.LastOld, want, err)
			}
		}
	}
	if (Verdict{FirstNew: 7, LastOld: 7}).Ordered() || !(Verdict{FirstNew: 8, LastOld: 7}).Ordered() {
		t.Error("new IDs are in order where the first one is above the last old one")
	}
}

// A layout may have ended long before the change.
func TestChangeAfterTheEndOfALayout(t *testing.T) {
	short := mustLayout(t, "time=3,seq=1,tick=1s,epoch=2025-01-01") // ticks 0 to 7, IDs up to 15
	to := mustLayout(t, "time=40,seq=2,first=2,tick=1s,epoch=2025-01-01T00:00:09Z")
	v, err := Change{From: short, To: to, At: to.Epoch, Floor: short.Epoch.Add(9 * time.Second)}.Check()
	if err != nil || v.Collision == nil || v.Collision.ID != 2 {
		t.Errorf("%+v, %v", v.Collision, err)
	}
}

func TestChangeErrors(t *testing.T) {
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		change Change
		want   error
	}{
		"past layout": {Change{From: MustLayout("twitter"), To: MustLayout("twitter"), At: at, Past: []Era{{Until: at}}}, ErrInvalidLayout},
		"encrypted":   {Change{From: MustLayout("twitter"), To: MustLayout("twitter"), At: at, Past: []Era{{Layout: Randflake(), Until: at}}}, ErrInvalidLayout},
		"old layout":  {Change{From: Layout{}, To: MustLayout("twitter"), At: at}, ErrInvalidLayout},
		"new layout":  {Change{From: MustLayout("twitter"), To: Layout{}, At: at}, ErrInvalidLayout},
		"new is over": {Change{From: MustLayout("twitter"), To: MustLayout("baidu"), At: at}, ErrLifetime},
		"nodes":       {Change{From: MustLayout("twitter"), To: MustLayout("twitter"), At: at, ToNodes: NodeRange{5, 1025}}, ErrInvalidID},
		"below all":   {Change{From: MustLayout("twitter"), To: MustLayout("twitter"), At: at, ToNodes: NodeRange{-1, 5}}, ErrInvalidID},
		"empty nodes": {Change{From: MustLayout("twitter"), To: MustLayout("twitter"), At: at, ToNodes: NodeRange{5, 5}}, ErrInvalidID},
	} {
		if _, err := c.change.Check(); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if _, err := (Change{From: MustLayout("twitter"), To: MustLayout("twitter")}).Check(); err == nil {
		t.Error("a change at no time was accepted")
	}
}

func BenchmarkChange(b *testing.B) {
	c := Change{
		From: MustLayout("twitter"), To: MustLayout("sonyflake"),
		At: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for b.Loop() {
		if _, err := c.Check(); err != nil {
			b.Fatal(err)
		}
	}
}
