package lease

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// Which nodes can be leased after a change: those that the change names, or those of before, where
// the layout has them.
func TestNodesAfterAChange(t *testing.T) {
	layout := func(bits string) snowfence.Layout {
		l, err := snowfence.ParseLayout("time=41,node=" + bits + ",seq=12,epoch=2025-01-01")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	old, to := layout("5"), layout("4") // 32 nodes, and 16
	for name, c := range map[string]struct {
		first, last int64 // that can be leased
		change      NamespaceChange
		to          snowfence.Layout
		want        [2]int64
		err         error
	}{
		"all become all":                    {0, 31, NamespaceChange{}, to, [2]int64{0, 15}, nil},
		"some stay":                         {3, 15, NamespaceChange{}, to, [2]int64{3, 15}, nil},
		"one that the new layout has not":   {3, 16, NamespaceChange{}, to, [2]int64{}, ErrInvalid},
		"all, and more are named":           {0, 15, NamespaceChange{Nodes: snowfence.NodeRange{Until: 32}}, old, [2]int64{0, 31}, ErrRefused},
		"all of a layout, and more of this": {0, 31, NamespaceChange{Nodes: snowfence.NodeRange{Until: 64}}, layout("6"), [2]int64{0, 63}, nil},
		"one below":                         {3, 15, NamespaceChange{Nodes: snowfence.NodeRange{From: 2, Until: 16}}, old, [2]int64{}, ErrRefused},
		"one above":                         {3, 15, NamespaceChange{Nodes: snowfence.NodeRange{From: 3, Until: 17}}, old, [2]int64{}, ErrRefused},
		"the same":                          {3, 15, NamespaceChange{Nodes: snowfence.NodeRange{From: 3, Until: 16}}, old, [2]int64{3, 15}, nil},
		"one below, in words":               {3, 15, NamespaceChange{Nodes: snowfence.NodeRange{From: 2, Until: 16}, Unused: time.Now()}, old, [2]int64{2, 15}, nil},
		"up to the last":                    {0, 31, NamespaceChange{Nodes: snowfence.NodeRange{Until: 16}}, to, [2]int64{0, 15}, nil},
		"one after the last":                {0, 31, NamespaceChange{Nodes: snowfence.NodeRange{Until: 17}}, to, [2]int64{}, ErrInvalid},
		"none":                              {0, 31, NamespaceChange{Nodes: snowfence.NodeRange{From: 5, Until: 5}}, to, [2]int64{}, ErrInvalid},
		"one":                               {0, 31, NamespaceChange{Nodes: snowfence.NodeRange{From: 5, Until: 6}}, to, [2]int64{5, 5}, nil},
		"below all":                         {0, 31, NamespaceChange{Nodes: snowfence.NodeRange{From: -1, Until: 6}}, to, [2]int64{}, ErrInvalid},
	} {
		first, last, err := c.change.nodes(Namespace{First: c.first, Last: c.last}, old, c.to)
		if !errors.Is(err, c.err) || err == nil && [2]int64{first, last} != c.want {
			t.Errorf("%s: %d to %d, %v", name, first, last, err)
		}
	}
}

// The end of numbers given by hand is an hour ahead at most.
func TestUnusedAnHourAhead(t *testing.T) {
	g := holding(t)
	l := g.l.ticks.layout
	for d, ok := range map[time.Duration]bool{0: true, maxWiden: true, maxWiden + 1: false, -time.Hour: true} {
		tick, err := (NamespaceChange{Unused: g.now.Add(d)}).afterUnused(l, g.now)
		if (err == nil) != ok || ok && tick != l.TickOf(g.now.Add(d))+1 {
			t.Errorf("%v from now: tick %d, %v", d, tick, err)
		}
	}
}

// A lease only adds the key after those that are known; a layout without a field for the number of
// a key has none to add.
func TestKeysThatALeaseAdds(t *testing.T) {
	keys := []*snowfence.Secret{snowfence.GenerateSecret(), snowfence.GenerateSecret(), snowfence.GenerateSecret()}
	scheme := func(spec string, keys ...*snowfence.Secret) *snowfence.Scheme {
		l, err := snowfence.ParseLayout(spec)
		if err != nil {
			t.Fatal(err)
		}
		s, err := snowfence.NewScheme(l, keys...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one := scheme("randflake", keys[0])
	if got, added, err := (Namespace{}).rotated(one, true); err != nil || added || len(got) != 0 {
		t.Errorf("without a field for its number: %q, %t, %v", got, added, err)
	}
	all := scheme("key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1", keys...)
	a, b, c := keys[0].ID(), keys[1].ID(), keys[2].ID()
	for _, x := range []struct {
		known    []string
		operator bool
		want     []string
		added    bool
	}{
		{nil, true, []string{a, b, c}, true},
		{nil, false, nil, false},
		{[]string{a}, false, []string{a, b, c}, true},
		{[]string{a, b, c}, false, []string{a, b, c}, false},
		{[]string{a, ""}, false, nil, false},
		{[]string{a, "", c}, false, nil, false},
		{[]string{a, ""}, true, []string{a, b, c}, true},
		{[]string{a, c}, true, nil, false},
	} {
		got, added, err := (Namespace{Keys: x.known}).rotated(all, x.operator)
		if (err == nil) != (x.want != nil) || err == nil && (!slices.Equal(got, x.want) || added != x.added) {
			t.Errorf("%q, by an operator %t: %q, %t, %v", x.known, x.operator, got, added, err)
		}
	}
}
