package process

import (
	"context"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// A number that a fence granted is nobody's bare number: it repeated all IDs.
func TestBareNumberBesideAFence(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, f *granting, h *Handle){
		"closed": func(t *testing.T, _ *granting, h *Handle) { closed(t, h) },
		"lost":   func(_ *testing.T, f *granting, _ *Handle) { f.lose() },
	} {
		t.Run(name, func(t *testing.T) {
			r, clk := newRegistry(), newClock()
			var s seen
			f := grants(t, bwmarrin, 5, clk)
			h := on(t, r, f, Options{Time: clk.now})
			s.add(t, must(t, h))
			for _, o := range []Options{{Time: clk.now}, {Time: clk.now, Replace: true}} {
				_, err := r.open(f.scheme, 5, o)
				refused(t, "its number", err)
				_, err = r.open(scheme(t, "time=41,node=9,seq=13"), 2, o)
				refused(t, "a number of another layout", err)
			}
			s.add(t, must(t, open(t, r, bwmarrin, 6, Options{Time: clk.now})))
			s.add(t, must(t, h)) // it goes on
			leave(t, f, h)
			above(t, open(t, r, bwmarrin, 5, Options{Time: clk.now}), clk, &s)
		})
	}
}

// Nor does a fence use a number that is in use. One that was in use begins above.
func TestFenceBesideABareNumber(t *testing.T) {
	r, clk := newRegistry(), newClock()
	var s seen
	o := Options{Time: clk.now}
	bare := open(t, r, bwmarrin, 5, o)
	s.add(t, must(t, bare))
	f := grants(t, bwmarrin, 5, clk)
	for spec, node := range map[string]int64{bwmarrin: 5, "time=41,node=9,seq=13": 2} {
		other := grants(t, spec, node, clk)
		_, err := r.on(other, o)
		refused(t, spec, err)
		if other.seal != nil {
			t.Errorf("%s: the fence stays bound", spec)
		}
	}
	s.add(t, must(t, bare)) // it goes on
	closed(t, bare)
	h := on(t, r, f, o)
	above(t, h, clk, &s)
	if len(r.unused) != 0 {
		t.Error("a generator that was let go counts as unused")
	}
	if gr, _ := h.gen.Load().Grant(); gr.From != f.grant.From+1 {
		t.Errorf("the grant begins at %d, and the first tick was used: %d", gr.From, f.grant.From)
	}
	f.set(func(f *granting) { f.grant.Until += 60_000 })
	clk.advance(70 * time.Second)
	s.add(t, must(t, h)) // renewed
	if gr, _ := h.gen.Load().Grant(); gr.From != f.grant.From+1 || gr.Until != f.grant.Until {
		t.Errorf("renewed it is %+v of %+v", gr, f.grant)
	}
	closed(t, h)
	f.gaveBack(t)
}

// A later grant over a bare number is not used while that is open.
func TestLaterGrantOverABareNumber(t *testing.T) {
	r, clk := newRegistry(), newClock()
	var s seen
	f := grants(t, bwmarrin, 5, clk)
	h := on(t, r, f, Options{Time: clk.now})
	bare := open(t, r, bwmarrin, 6, Options{Time: clk.now})
	s.add(t, must(t, h))
	s.add(t, must(t, bare))
	f.lose()
	f.set(func(f *granting) { f.grant.Node, f.gone = 6, false })
	for range 3 {
		_, err := h.NextSoon(t.Context())
		refused(t, "a bare number in use", err)
		s.add(t, must(t, bare))
	}
	closed(t, bare)
	clk.advance(time.Millisecond)
	id, err := h.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.add(t, id)
}

// A grant without an end is a bare number, such as that of Unguarded: nobody proves it.
func TestTwoFencesOfOneNumber(t *testing.T) {
	for _, c := range []struct {
		name       string
		bare, also bool // the first and the second
		free       bool
	}{
		{"two static numbers", true, true, false},
		{"a static number and a lease", true, false, false},
		{"a lease and a static number", false, true, false},
		{"two leases, of two namespaces", false, false, true},
	} {
		r, clk := newRegistry(), newClock()
		o := Options{Time: clk.now}
		fence := func(bare bool) snowfence.Fence {
			if bare {
				return snowfence.Unguarded(scheme(t, bwmarrin), 5)
			}
			return grants(t, bwmarrin, 5, clk)
		}
		first := on(t, r, fence(c.bare), o)
		must(t, first)
		second, err := r.on(fence(c.also), o)
		if c.free {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			} else {
				closed(t, second)
			}
			continue
		}
		refused(t, c.name, err)
		closed(t, first)
		second = on(t, r, fence(c.also), o)
		if id, err := second.TryNext(); err == nil {
			t.Errorf("%s: %d in a tick that was used", c.name, id)
		}
	}
}

// A grant is all of its nodes, and no more than its numbers.
func TestNumbersOfAGrant(t *testing.T) {
	r, clk := newRegistry(), newClock()
	o := Options{Time: clk.now}
	f := grants(t, bwmarrin, 4, clk)
	f.grant.Nodes = 4
	block := on(t, r, f, o)
	must(t, block)
	for node, free := range map[int64]bool{3: true, 4: false, 6: false, 7: false, 8: true} {
		if _, err := r.open(f.scheme, node, o); (err == nil) != free {
			t.Errorf("node %d beside the nodes 4 to 7: %v", node, err)
		}
	}
	for node, free := range map[int64]bool{0: false, 8: false, 12: true} { // 3 and 8 are in use
		other := grants(t, bwmarrin, node, clk)
		other.grant.Nodes = 4
		if _, err := r.on(other, o); (err == nil) != free {
			t.Errorf("a block from %d: %v", node, err)
		}
	}
	closed(t, block)
	open(t, r, bwmarrin, 6, o)

	r = newRegistry()
	part := grants(t, bwmarrin, 20, clk)
	part.grant.FirstSeq, part.grant.LastSeq = 32, 63
	must(t, on(t, r, part, o))
	for slice, free := range map[string]bool{
		",last=31": true, ",first=64": true, ",first=32,last=32": false, ",first=63": false, "": false,
	} {
		h, err := r.open(scheme(t, bwmarrin+slice), 20, o)
		if (err == nil) != free {
			t.Errorf("the numbers %q beside 32 to 63: %v", slice, err)
		}
		if err == nil {
			closed(t, h)
		}
	}
}

// The numbers are nobody else's until the generator is sealed.
func TestSealComesBeforeTheNumbersAreFree(t *testing.T) {
	r, clk := newRegistry(), newClock()
	o := Options{Time: clk.now}
	f := grants(t, bwmarrin, 5, clk)
	h := on(t, r, f, o)
	must(t, h)
	for known := range r.spaces[key(t, bwmarrin)].fenced {
		seal := known.seal
		known.seal = func() int64 {
			_, err := r.open(f.scheme, 5, o)
			refused(t, "before the seal", err)
			used := seal()
			_, err = r.open(f.scheme, 5, o)
			refused(t, "before the floor", err)
			return used
		}
	}
	closed(t, h)
	open(t, r, bwmarrin, 5, o)
}

func key(t testing.TB, spec string) spaceKey {
	k, _, _, err := place(scheme(t, spec), 0)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// The numbers are free before the fence is, so that whoever has the fence next can
// enter them.
func TestNumberIsFreeBeforeItsFenceIs(t *testing.T) {
	r, clk := newRegistry(), newClock()
	o := Options{Time: clk.now}
	f := &last{granting: grants(t, bwmarrin, 5, clk), release: func() error {
		h, err := r.open(scheme(t, bwmarrin), 5, o)
		if err != nil {
			return err
		}
		return h.Close()
	}}
	h := on(t, r, f, o)
	must(t, h)
	closed(t, h)
}

// last calls release while it is given back.
type last struct {
	*granting
	release func() error
}

func (f *last) Release(context.Context, snowfence.Grant, int64) error { return f.release() }
