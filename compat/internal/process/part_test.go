package process

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/snowfence/snowfence"
)

func scheme(spec string) *snowfence.Scheme {
	l := must(snowfence.ParseLayout(spec))
	return must(snowfence.NewScheme(l))
}

// Whether two parts overlap is decided exactly: as by all of their IDs.
func TestOverlapIsExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	specs := []string{
		"time=57,node=3,seq=3", "time=56,seq=3,node=3", "time=57,zone=2,seq=3,rack=1", "time=57,zone=1,rack=2,seq=3",
		"time=57,node=6", "time=57,seq=6", "time=57,node=2,seq=4,first=3,last=9",
	}
	draw := func() (part, map[snowfence.ID]bool) {
		s := scheme(specs[rnd.IntN(len(specs))])
		l := s.Layout()
		gr := snowfence.Grant{Nodes: 1 + rnd.Int64N(min(2, s.Nodes()))}
		gr.Node = rnd.Int64N(s.Nodes() - gr.Nodes + 1)
		gr.FirstSeq = l.First + rnd.Int64N(l.Last-l.First+1)
		gr.LastSeq = gr.FirstSeq + rnd.Int64N(l.Last-gr.FirstSeq+1)
		_, p, err := partOf(s, gr)
		noError(t, err)
		ids := map[snowfence.ID]bool{}
		first, last := gr.FirstSeq, gr.LastSeq
		if first == 0 && last == 0 {
			first, last = l.First, l.Last
		}
		for node := range gr.Nodes {
			for seq := first; seq <= last; seq++ {
				id := must(s.Compose(snowfence.Parts{Tick: 5, Node: gr.Node + node, Sequence: seq}))
				ids[id] = true
			}
		}
		return p, ids
	}
	met := 0
	for range 2000 {
		a, in := draw()
		b, also := draw()
		want := false
		for id := range also {
			want = want || in[id]
		}
		if got := a.overlaps(b); got != want {
			t.Fatalf("%+v and %+v: overlap %v, want %v", a, b, got, want)
		}
		if a.same(b) && !maps.Equal(in, also) || !a.same(a) {
			t.Fatalf("%+v and %+v are the same", a, b)
		}
		if want {
			met++
		}
	}
	if met < 100 {
		t.Errorf("only %d pairs met", met)
	}
}

func TestPartOfRefuses(t *testing.T) {
	for _, c := range []struct {
		spec string
		node int64
		want string
	}{
		{"time=41,node=10,seq=12", -1, "node -1: the layout has nodes 0 to 1023"},
		{"time=41,node=10,seq=12", 1024, "node 1024: the layout has nodes 0 to 1023"},
		{"time=41,seq=12", 1, "node 1: the layout has nodes 0 to 0"},
		{"time=41,node=8,rollback=2,seq=12", 0, "take a generator of your own"},
		{"scatter=2,time=41,node=8,seq=12", 0, "take a generator of your own"},
		{"node=10,time=41,seq=12", 0, "take a generator of your own"},
		{"time=41,tag=8,node=2,seq=12", 0, "take a generator of your own"},
	} {
		r := newSet()
		says(t, errOf(r.open(scheme(c.spec), c.node, Options{})), c.want, "%s: node %d", c.spec, c.node)
	}
}

// Spaces are apart when their IDs cannot be compared, and only then.
func TestSpaces(t *testing.T) {
	key := func(s *snowfence.Scheme) spaceKey {
		k, _, err := partOf(s, snowfence.Grant{})
		noError(t, err)
		return k
	}
	base := key(scheme("time=41,node=10,seq=12"))
	for spec, same := range map[string]bool{
		"time=41,node=5,seq=17":                    true,
		"time=40,seq=20,node=2":                    true,
		"time=41,node=10,seq=12,first=5":           true,
		"time=41,node=10,seq=11":                   false,
		"time=41,node=10,seq=12,tick=2ms":          false,
		"time=41,node=10,seq=12,epoch=2025-01-02":  false,
		"time=41,node=10,seq=12,epoch=2025-01-01":  true,
		"time=41,zone=5,worker=5,seq=12,last=4000": true,
	} {
		if got := key(scheme(spec)) == base; got != same {
			t.Errorf("%s: the same space: %v, want %v", spec, got, same)
		}
	}
	l := snowfence.Randflake()
	one, two := snowfence.GenerateSecret(), snowfence.GenerateSecret()
	a, _ := snowfence.NewScheme(l, one)
	b, _ := snowfence.NewScheme(l, one)
	c, _ := snowfence.NewScheme(l, two)
	raw, _ := snowfence.NewScheme(snowfence.MustLayout("randflake-raw"))
	if key(a) != key(b) || key(a) == key(c) || key(a) == key(raw) {
		t.Error("a secret is not a space of its own")
	}
}
