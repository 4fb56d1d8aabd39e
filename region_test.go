package snowfence

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/draw"
)

// smallLayout draws a layout of few bits with any order of fields, so that
// all its IDs can be listed.
func smallLayout(t *draw.T) Layout {
	var fields []Field
	for _, most := range []Field{ // in this order, as the seed says
		{FieldNode, 2},
		{FieldSequence, 2},
		{FieldRollback, 2},
		{"rack", 2},
		{FieldScatter, 1},
		{FieldTag, 1},
	} {
		if bits := t.Int(0, most.Bits); bits > 0 {
			fields = append(fields, Field{most.Name, bits})
		}
	}
	fields = append(fields, Field{FieldTime, t.Int(1, 5)})
	for {
		if l := (Layout{Fields: draw.Order(t, fields)}); l.Validate() == nil {
			return bounded(t, l)
		}
	}
}

// bounded draws the epoch, the tick and the sequence numbers of a layout.
func bounded(t *draw.T, l Layout) Layout {
	l.Epoch = time.Unix(1_700_000_000+t.Range(-20, 20), 0)
	l.Tick = time.Duration(t.Int(1, 4)) * time.Second
	top := int64(1)<<l.Bits(FieldSequence) - 1
	l.Last = t.Range(0, top)
	if l.Last == 0 {
		l.Last = top
	}
	l.First = t.Range(0, l.Last)
	return l
}

func drawNodes(t *draw.T, l Layout) NodeRange {
	if t.Bool() {
		return NodeRange{}
	}
	n := int64(1) << l.Bits(FieldNode)
	from := t.Range(0, n-1)
	return NodeRange{from, t.Range(from+1, n)}
}

func drawRegion(t *draw.T, l Layout) Region {
	r := Region{Layout: l}
	r.Nodes = drawNodes(t, r.Layout)
	s := schemeOf(t, r.Layout)
	top := int64(1)<<s.layout.Bits(FieldSequence) - 1
	r.First = t.Range(0, top)
	r.Last = t.Range(r.First, top)
	r.From = t.Range(0, s.MaxTick())
	r.Until = t.Range(0, s.MaxTick()+1)
	return r
}

func schemeOf(t *draw.T, l Layout) *Scheme {
	return must(NewScheme(l))
}

func TestMeetAgainstAllIDs(t *testing.T) {
	var refused, proven int
	draw.Check(t, func(t *draw.T) {
		a, b := drawRegion(t, smallLayout(t)), drawRegion(t, smallLayout(t))
		if t.Bool() {
			b.Layout = a.Layout
			b.Nodes = a.Nodes
			b.First, b.Last = a.First, a.Last
			b.From, b.Until = t.Range(0, a.Until), a.Until
		}
		if compareWithAllIDs(t, a, b) {
			refused++
		} else {
			proven++
		}
	})
	if proven == 0 || refused == 0 {
		t.Errorf("the regions drawn do not show both outcomes: %d proven, %d refused", proven, refused)
	}
}

// compareWithAllIDs fails where Meet says something else than the lists of
// all IDs of both regions.
func compareWithAllIDs(t *draw.T, a, b Region) (meet bool) {
	t.Helper()
	ids := idsIn(t, a)
	lowest, both := uint64(0), false
	for id := range idsIn(t, b) {
		if ids[id] && (!both || uint64(id) < lowest) {
			lowest, both = uint64(id), true
		}
	}
	got := must(Meet(a, b))
	if (got != nil) != both || both && uint64(got.ID) != lowest {
		t.Fatalf("%+v and %+v: got %+v; want %t, %d", a, b, got, both, lowest)
	}
	return both
}

// Each order that fields can have meets other layouts where lists of all
// IDs do.
func TestMeetInEachOrder(t *testing.T) {
	d := &draw.T{T: t, Rand: rand.New(rand.NewPCG(1, 1))}
	orders, both := 0, 0
	eachOrder([]Field{
		{FieldTime, 3},
		{FieldNode, 2},
		{FieldSequence, 1},
		{FieldRollback, 1},
		{"rack", 1},
		{FieldScatter, 1},
		{FieldTag, 1},
	}, 0, func(fields []Field) {
		l := Layout{Fields: slices.Clone(fields)}
		if l.Validate() != nil {
			return
		}
		orders++
		if compareWithAllIDs(d, drawRegion(d, bounded(d, l)), drawRegion(d, smallLayout(d))) {
			both++
		}
	})
	if orders != 5040/12 || both < orders/10 || both > orders*9/10 {
		t.Errorf("%d orders, of which %d meet", orders, both)
	}
}

// eachOrder calls f with each order of the elements from first on.
func eachOrder(fields []Field, first int, f func([]Field)) {
	if first == len(fields) {
		f(fields)
		return
	}
	for i := first; i < len(fields); i++ {
		fields[first], fields[i] = fields[i], fields[first]
		eachOrder(fields, first+1, f)
		fields[first], fields[i] = fields[i], fields[first]
	}
}

// idsIn decodes each number of a small layout, and keeps those in the
// region.
func idsIn(t *draw.T, r Region) map[ID]bool {
	s := schemeOf(t, r.Layout)
	ids := map[ID]bool{}
	for n := range int64(1) << s.layout.Width() {
		p := must(s.Decode(ID(n)))
		if r.Nodes != (NodeRange{}) && (p.Node < r.Nodes.From || p.Node >= r.Nodes.Until) {
			continue
		}
		if p.Sequence >= r.First && p.Sequence <= r.Last && p.Tick >= r.From && p.Tick < r.Until {
			ids[ID(n)] = true
		}
	}
	return ids
}

func TestMeetEncrypted(t *testing.T) {
	l := Randflake()
	one := Region{Layout: l, Key: "a", Nodes: NodeRange{1, 2}, Last: l.Last, Until: 9}
	other, secret, plain := one, one, one
	other.Nodes = NodeRange{2, 3}
	secret.Key = "b"
	plain.Layout.Cipher = Plain
	keyless := one
	keyless.Key = ""
	for name, c := range map[string]struct {
		a, b  Region
		meets bool
		err   error
	}{
		"one secret, one node":  {one, one, true, nil},
		"one secret, two nodes": {one, other, false, nil},
		"two secrets":           {one, secret, false, ErrUnproven},
		"no secret":             {keyless, keyless, false, ErrUnproven},
		"plain":                 {one, plain, false, ErrUnproven},
	} {
		for _, r := range [][2]Region{{c.a, c.b}, {c.b, c.a}} {
			if x, err := Meet(r[0], r[1]); (x != nil) != c.meets || !errors.Is(err, c.err) || c.err == nil &&
				err != nil {
				t.Errorf("%s: %+v, %v", name, x, err)
			}
		}
	}
}

func TestMeetErrors(t *testing.T) {
	l := MustLayout("drift")
	good := Region{Layout: l, Last: l.Last, Until: 9}
	change := func(f func(*Region)) Region { r := good; f(&r); return r }
	for name, c := range map[string]struct {
		r    Region
		want error
	}{
		"no layout":         {Region{}, ErrInvalidLayout},
		"nodes":             {change(func(r *Region) { r.Nodes = NodeRange{5, 65} }), ErrInvalidID},
		"nodes below all":   {change(func(r *Region) { r.Nodes = NodeRange{-1, 5} }), ErrInvalidID},
		"no nodes":          {change(func(r *Region) { r.Nodes = NodeRange{5, 5} }), ErrInvalidID},
		"numbers above":     {change(func(r *Region) { r.Last = 64 }), ErrInvalidID},
		"numbers below":     {change(func(r *Region) { r.First = -1 }), ErrInvalidID},
		"numbers backwards": {change(func(r *Region) { r.First, r.Last = 3, 2 }), ErrInvalidID},
		"ticks before":      {change(func(r *Region) { r.From = -1 }), ErrInvalidID},
		"ticks after":       {change(func(r *Region) { r.Until = 1<<52 + 1 }), ErrInvalidID},
	} {
		for _, r := range [][2]Region{{c.r, good}, {good, c.r}} {
			if x, err := Meet(r[0], r[1]); !errors.Is(err, c.want) || x != nil {
				t.Errorf("%s: %+v, %v; want %v", name, x, err, c.want)
			}
		}
	}
}

// Two libraries in one column: what their numbers, slices and epochs make
// of it.
func TestRegionsOfNeighbors(t *testing.T) {
	of := func(spec string, nodes NodeRange) Region { return must(RegionOf(MustLayout(spec), nodes)) }
	numbers := func(r Region, first, last int64) Region { r.First, r.Last = first, last; return r }
	before := func(r Region, until time.Time) Region {
		r.Until = min(r.Until, r.Layout.TickOf(until.Add(-1))+1)
		return r
	}
	later := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	const second = "time=41,node=10,seq=12,epoch=2040-01-01"
	for name, c := range map[string]struct {
		a, b Region
		safe bool
	}{
		"the same nodes":    {of("drift", NodeRange{}), of("drift", NodeRange{}), false},
		"nodes apart":       {of("drift", NodeRange{0, 30}), of("drift", NodeRange{30, 64}), true},
		"slices apart":      {numbers(of("drift", NodeRange{7, 8}), 5, 31), numbers(of("drift", NodeRange{7, 8}), 32, 63), true},
		"one number shared": {numbers(of("drift", NodeRange{7, 8}), 5, 32), numbers(of("drift", NodeRange{7, 8}), 32, 63), false},
		"reserved numbers": {
			of("time=51,node=6,seq=6,first=5,last=31,epoch=2020-02-20", NodeRange{}),
			numbers(of("time=51,node=6,seq=6,epoch=2020-02-20", NodeRange{}), 3, 4), false,
		},
		"two epochs meet in another year": {of("default", NodeRange{}), of(second, NodeRange{}), false},
		"and not before the later one":    {before(of("default", NodeRange{}), later), before(of(second, NodeRange{}), later), true},
		"but soon after": {
			before(of("default", NodeRange{}), later.Add(time.Millisecond)),
			before(of(second, NodeRange{}), later.Add(1)), false,
		},
	} {
		if x, err := Meet(c.a, c.b); err != nil || (x == nil) != c.safe {
			t.Errorf("%s: %+v, %v; safe is %t", name, x, err, c.safe)
		}
	}
	full, empty := of("drift", NodeRange{}), of("drift", NodeRange{})
	empty.Until = 0
	for _, r := range [][2]Region{{full, empty}, {empty, full}} {
		if x, err := Meet(r[0], r[1]); x != nil || err != nil {
			t.Errorf("a region without a tick: %+v, %v", x, err)
		}
	}
	end, all := testScheme("default").MaxTick(), of("default", NodeRange{})
	last := all
	last.From, last.Until = end, end+1
	if x, err := Meet(all, last); err != nil || x == nil {
		t.Errorf("the last tick: %+v, %v", x, err)
	}
	wantErr(t, errOf(RegionOf(Layout{}, NodeRange{})), ErrInvalidLayout, "no layout")
}
