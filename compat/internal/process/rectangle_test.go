package process

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/snowfence/snowfence"
)

func scheme(t testing.TB, spec string) *snowfence.Scheme {
	t.Helper()
	l, err := snowfence.ParseLayout(spec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := snowfence.NewScheme(l)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// all returns the numbers of a rectangle, one by one.
func (r rectangle) all() map[uint64]bool {
	m := map[uint64]bool{}
	for v := r.base; v <= r.top; v += 1 << r.shift {
		m[v] = true
	}
	return m
}

// The rectangle of a node is what its IDs have below the time.
func TestPlaceIsWhatComposePlaces(t *testing.T) {
	for _, spec := range []string{
		"time=50,node=3,seq=4",
		"time=50,seq=4,node=3",
		"time=50,seq=4,node=3,first=5,last=9",
		"time=50,zone=2,seq=3,rack=2",
		"time=50,zone=2,rack=1,seq=3,first=2",
		"time=50,seq=5",
		"time=50,node=5",
		"time=50,node=3,seq=4,first=3,last=3",
		"time=57,node=3,seq=4",
		"time=50,node=3,seq=4,cipher=sparx",
	} {
		l, err := snowfence.ParseLayout(spec)
		if err != nil {
			t.Fatal(err)
		}
		plain := l
		plain.Cipher = snowfence.Plain
		p, err := snowfence.NewScheme(plain)
		if err != nil {
			t.Fatal(err)
		}
		s := p
		if l.Cipher != snowfence.Plain {
			if s, err = snowfence.NewScheme(l, snowfence.GenerateSecret()); err != nil {
				t.Fatal(err)
			}
		}
		for node := range s.Nodes() {
			k, rects, err := place(s, snowfence.Grant{Node: node})
			if err != nil {
				t.Fatal(err)
			}
			low := uint64(1)<<k.below - 1
			want := map[uint64]bool{}
			for seq := l.First; seq <= p.Layout().Last; seq++ {
				id, err := p.Compose(snowfence.Parts{Tick: 77, Node: node, Sequence: seq})
				if err != nil {
					t.Fatal(err)
				}
				if uint64(id)>>k.below != 77 {
					t.Fatalf("%s: %d bits below the time", spec, k.below)
				}
				want[uint64(id)&low] = true
			}
			if got := rects[0].all(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: node %d: %v, want %v", spec, node, got, want)
			}
		}
	}
}

func TestPlaceRefuses(t *testing.T) {
	for _, c := range []struct {
		spec string
		node int64
	}{
		{"time=41,node=10,seq=12", -1},
		{"time=41,node=10,seq=12", 1024},
		{"time=41,seq=12", 1},
		{"time=41,node=8,rollback=2,seq=12", 0},
		{"scatter=2,time=41,node=8,seq=12", 0},
		{"node=10,time=41,seq=12", 0},
		{"time=41,tag=8,node=2,seq=12", 0},
	} {
		r := newSet()
		if c.node > 0 {
			defer open(t, r, c.spec, 0, Options{}).Close() // whose low bits equal the node's that is too high
		}
		if h, err := r.open(scheme(t, c.spec), c.node, Options{}); err == nil {
			t.Errorf("%s: opened node %d: %v", c.spec, c.node, h)
		}
	}
}

// Whether two rectangles overlap is decided exactly: as by counting.
func TestOverlapIsExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func() rectangle {
		r := rectangle{base: rnd.Uint64N(64), shift: uint8(rnd.IntN(5))}
		r.top = r.base + rnd.Uint64N(8)<<r.shift
		if r.top == r.base {
			r.shift = 0
		}
		return r
	}
	met := 0
	for range 200_000 {
		a, b := random(), random()
		want := false
		in := b.all()
		for v := range a.all() {
			want = want || in[v]
		}
		if got := a.overlaps(b); got != want {
			t.Fatalf("%+v and %+v: overlap %v, want %v", a, b, got, want)
		}
		if want {
			met++
		}
	}
	if met < 1000 {
		t.Errorf("only %d pairs met", met)
	}
}

// Spaces are apart when their IDs cannot be compared, and only then.
func TestSpaces(t *testing.T) {
	key := func(s *snowfence.Scheme) spaceKey {
		k, _, err := place(s, snowfence.Grant{})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	base := key(scheme(t, "time=41,node=10,seq=12"))
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
		if got := key(scheme(t, spec)) == base; got != same {
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
