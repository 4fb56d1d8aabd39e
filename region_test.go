package snowfence

import (
	"errors"
	"testing"

	"github.com/snowfence/snowfence/internal/draw"
)

func drawRegion(t *draw.T) Region {
	r := Region{Layout: smallLayout(t)}
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
	s, err := NewScheme(l)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMeetAgainstAllIDs(t *testing.T) {
	var refused, proven int
	draw.Check(t, func(t *draw.T) {
		a, b := drawRegion(t), drawRegion(t)
		if t.Bool() {
			b.Layout = a.Layout
			b.Nodes = a.Nodes
			b.First, b.Last = a.First, a.Last
			b.From, b.Until = t.Range(0, a.Until), a.Until
		}
		ids := idsIn(t, a)
		lowest, both := uint64(0), false
		for id := range idsIn(t, b) {
			if ids[id] && (!both || uint64(id) < lowest) {
				lowest, both = uint64(id), true
			}
		}
		got, err := Meet(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if (got != nil) != both || both && uint64(got.ID) != lowest {
			t.Fatalf("%+v and %+v: got %+v; want %t, %d", a, b, got, both, lowest)
		}
		if both {
			refused++
		} else {
			proven++
		}
	})
	if proven == 0 || refused == 0 {
		t.Errorf("the regions drawn do not show both outcomes: %d proven, %d refused", proven, refused)
	}
}

// idsIn decodes each number of a small layout, and keeps those in the region.
func idsIn(t *draw.T, r Region) map[ID]bool {
	s := schemeOf(t, r.Layout)
	ids := map[ID]bool{}
	for n := range int64(1) << s.layout.Width() {
		p, err := s.Decode(ID(n))
		if err != nil {
			t.Fatal(err)
		}
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
			if x, err := Meet(r[0], r[1]); (x != nil) != c.meets || !errors.Is(err, c.err) || c.err == nil && err != nil {
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
