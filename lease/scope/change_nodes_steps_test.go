package scope

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/internal/fault"
)

// Which nodes can be leased after a change: those that the change names, or
// the earlier ones, where the layout has them.
func TestNodesAfterAChange(t *testing.T) {
	layout := func(bits string) snowfence.Layout {
		return must(snowfence.ParseLayout("time=41,node=" + bits + ",seq=12,epoch=2025-01-01"))
	}
	old, to := layout("5"), layout("4") // 32 nodes, and 16
	among := func(from, until int64) snowfence.NodeRange { return snowfence.NodeRange{From: from, Until: until} }
	none := snowfence.NodeRange{}
	for name, c := range map[string]struct {
		leasable, named snowfence.NodeRange
		unused          bool
		to              snowfence.Layout
		want            snowfence.NodeRange
		err             error
	}{
		"all become all":                    {among(0, 32), none, false, to, among(0, 16), nil},
		"some stay":                         {among(3, 16), none, false, to, among(3, 16), nil},
		"one that the new layout has not":   {among(3, 17), none, false, to, none, fault.ErrInvalid},
		"all, and more are named":           {among(0, 16), among(0, 32), false, old, among(0, 32), fault.ErrRefused},
		"all of a layout, and more of this": {among(0, 32), among(0, 64), false, layout("6"), among(0, 64), nil},
		"one below":                         {among(3, 16), among(2, 16), false, old, none, fault.ErrRefused},
		"one above":                         {among(3, 16), among(3, 17), false, old, none, fault.ErrRefused},
		"the same":                          {among(3, 16), among(3, 16), false, old, among(3, 16), nil},
		"one below, in words":               {among(3, 16), among(2, 16), true, old, among(2, 16), nil},
		"up to the last":                    {among(0, 32), among(0, 16), false, to, among(0, 16), nil},
		"one after the last":                {among(0, 32), among(0, 17), false, to, none, fault.ErrInvalid},
		"none":                              {among(0, 32), among(5, 5), false, to, none, fault.ErrInvalid},
		"one":                               {among(0, 32), among(5, 6), false, to, among(5, 6), nil},
		"below all":                         {among(0, 32), among(-1, 6), false, to, none, fault.ErrInvalid},
	} {
		o := NamespaceOptions{Nodes: c.named}
		if c.unused {
			o.Unused = time.Now()
		}
		nodes, err := change{NamespaceOptions: o}.nodes(Namespace{Terms: Terms{Nodes: c.leasable}}, old, c.to)
		if !errors.Is(err, c.err) || err == nil && nodes != c.want {
			t.Errorf("%s: %+v, %v", name, nodes, err)
		}
	}
}

// A lease only adds the key after those that are known; a layout without a
// field for the number of a key has none to add.
func TestKeysThatALeaseAdds(t *testing.T) {
	keys := []*snowfence.Secret{snowfence.GenerateSecret(), snowfence.GenerateSecret(), snowfence.GenerateSecret()}
	scheme := func(spec string, keys ...*snowfence.Secret) *snowfence.Scheme {
		l := must(snowfence.ParseLayout(spec))
		return must(snowfence.NewScheme(l, keys...))
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
		got, added, err := (Namespace{Terms: Terms{Keys: x.known}}).rotated(all, x.operator)
		if (err == nil) != (x.want != nil) || err == nil && (!slices.Equal(got, x.want) || added != x.added) {
			t.Errorf("%q, by an operator %t: %q, %t, %v", x.known, x.operator, got, added, err)
		}
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }
