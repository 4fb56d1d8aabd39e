package snowfence

import (
	"strings"
	"testing"
)

func TestNodesWith(t *testing.T) {
	parse := func(spec string) *Scheme {
		l, err := ParseLayout(spec)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewScheme(l)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	three := parse("time=41,region=2,datacenter=3,worker=5,seq=12")
	for _, c := range []struct {
		s     *Scheme
		parts map[string]int64
		want  NodeRange
		says  string
	}{
		{testScheme(t, "twitter"), map[string]int64{"datacenter": 3}, NodeRange{96, 128}, ""},
		{testScheme(t, "twitter"), map[string]int64{"datacenter": 31}, NodeRange{992, 1024}, ""},
		{testScheme(t, "twitter"), map[string]int64{"datacenter": 0, "worker": 0}, NodeRange{0, 1}, ""},
		{testScheme(t, "twitter"), nil, NodeRange{0, 1024}, ""},
		{testScheme(t, "twitter"), map[string]int64{"datacenter": 32}, NodeRange{}, "datacenter 32; its 5 bits hold 0 to 31"},
		{testScheme(t, "twitter"), map[string]int64{"worker": 3}, NodeRange{}, "the nodes with one worker are no range in the layout time=41,datacenter=5,worker=5"},
		{testScheme(t, "twitter"), map[string]int64{"zone": 3}, NodeRange{}, "has no part zone"},
		{three, map[string]int64{"region": 1}, NodeRange{256, 512}, ""},
		{three, map[string]int64{"region": 1, "datacenter": 2}, NodeRange{320, 352}, ""},
		{three, map[string]int64{"region": 1, "worker": 2}, NodeRange{}, "because datacenter stands above it"},
		// Fields of other kinds may stand between the parts of the node.
		{parse("time=41,datacenter=5,seq=12,worker=5"), map[string]int64{"datacenter": 3}, NodeRange{96, 128}, ""},
		{parse("time=41,worker=5,datacenter=5,seq=12"), map[string]int64{"datacenter": 3}, NodeRange{}, "because worker stands above it: give worker too"},
	} {
		got, err := c.s.NodesWith(c.parts)
		if c.says == "" && (err != nil || got != c.want) ||
			c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%v: got %v, %v, want %v %q", c.parts, got, err, c.want, c.says)
		}
		for n := got.From; err == nil && n < got.Until; n++ {
			for i, f := range c.s.Layout().NodeParts() {
				if v, ok := c.parts[f.Name]; ok && c.s.NodeParts(n)[i] != v {
					t.Errorf("%v: node %d has %s %d", c.parts, n, f.Name, c.s.NodeParts(n)[i])
				}
			}
		}
	}
}

// Node 0 alone is a range as any other, and never means all nodes.
func TestNodeZeroAlone(t *testing.T) {
	zero := NodeRange{0, 1}
	s := testScheme(t, "twitter")
	one := must(s.Compose(Parts{Tick: 5, Node: 1}))
	if _, err := s.Check(one, &CheckOptions{Nodes: zero}); err == nil {
		t.Error("an ID of node 1 passes as one of node 0")
	}
	if odds := s.Odds(&CheckOptions{Nodes: zero}); odds != s.Odds(nil)/1024 {
		t.Errorf("odds %v", odds)
	}
	l := s.Layout()
	a, b := must(RegionOf(l, zero)), must(RegionOf(l, NodeRange{1, 1024}))
	none, err := Meet(a, b)
	if err != nil || none != nil {
		t.Errorf("node 0 beside the others: %+v, %v", none, err)
	}
	both, err := Meet(a, a)
	if err != nil || both == nil {
		t.Errorf("node 0 beside node 0: %+v, %v", both, err)
	}
}
