package process

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
)

// A number that a fence granted is no bare number until Close: it repeated
// all IDs.
func TestBareNumberBesideAFence(t *testing.T) {
	r, clk := newSet(), newClock()
	var s seen
	f := grants(t, bwmarrin, 5, clk)
	h := must(r.on(f, Options{Time: clk.Now}))
	s.add(t, must(h.TryNext()))
	other := func(what string) {
		for _, o := range []Options{{Time: clk.Now}, {Time: clk.Now, Replace: true}} {
			_, err := r.open(f.scheme, 5, o)
			refused(t, what+"its number", err)
			_, err = r.open(scheme("time=41,node=9,seq=13"), 2, o)
			refused(t, what+"a number of another layout", err)
		}
	}
	other("")
	s.add(t, must(open(t, r, bwmarrin, 6, Options{Time: clk.Now}).TryNext()))
	s.add(t, must(h.TryNext())) // it goes on
	f.lose()
	other("after a loss, ")
	closed(t, h)
	above(t, open(t, r, bwmarrin, 5, Options{Time: clk.Now}), clk, &s)
}

// Nor does a fence use a number that is in use. One that was in use begins
// above.
func TestFenceBesideABareNumber(t *testing.T) {
	r, clk := newSet(), newClock()
	var s seen
	o := Options{Time: clk.Now}
	bare := open(t, r, bwmarrin, 5, o)
	s.add(t, must(bare.TryNext()))
	f := grants(t, bwmarrin, 5, clk)
	for spec, node := range map[string]int64{bwmarrin: 5, "time=41,node=9,seq=13": 2} {
		other := grants(t, spec, node, clk)
		_, err := r.on(other, o)
		refused(t, spec, err)
		if other.seal != nil {
			t.Errorf("%s: the fence stays bound", spec)
		}
	}
	s.add(t, must(bare.TryNext())) // it goes on
	closed(t, bare)
	h := must(r.on(f, o))
	above(t, h, clk, &s)
	if len(r.unused) != 0 {
		t.Error("a generator that was let go counts as unused")
	}
	if gr, _ := h.gen.Load().Grant(); gr.From != f.grant.From+1 {
		t.Errorf("the grant begins at %d, and the first tick was used: %d", gr.From, f.grant.From)
	}
	f.set(func(f *granting) { f.grant.Until += 60_000 })
	clk.Advance(70 * time.Second)
	s.add(t, must(h.TryNext())) // renewed
	if gr, _ := h.gen.Load().Grant(); gr.From != f.grant.From+1 || gr.Until != f.grant.Until {
		t.Errorf("renewed it is %+v of %+v", gr, f.grant)
	}
	closed(t, h)
	f.gaveBack(t)
}

// A later grant over a bare number is not used while that is open.
func TestLaterGrantOverABareNumber(t *testing.T) {
	r, clk := newSet(), newClock()
	var s seen
	f := grants(t, bwmarrin, 5, clk)
	h := must(r.on(f, Options{Time: clk.Now}))
	bare := open(t, r, bwmarrin, 6, Options{Time: clk.Now})
	s.add(t, must(h.TryNext()))
	s.add(t, must(bare.TryNext()))
	f.lose()
	f.set(func(f *granting) { f.grant.Node, f.gone = 6, false })
	for range 3 {
		_, err := h.NextSoon(t.Context())
		refused(t, "a bare number in use", err)
		s.add(t, must(bare.TryNext()))
	}
	closed(t, bare)
	clk.Advance(time.Millisecond)
	s.add(t, must(h.Next(t.Context())))
}

// A grant without an end is a bare number, such as Unguarded's: nothing
// proves it.
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
		r, clk := newSet(), newClock()
		o := Options{Time: clk.Now}
		fence := func(bare bool) snowfence.Fence {
			if bare {
				return snowfence.Unguarded(scheme(bwmarrin), 5)
			}
			return grants(t, bwmarrin, 5, clk)
		}
		first := must(r.on(fence(c.bare), o))
		must(first.TryNext())
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
		second = must(r.on(fence(c.also), o))
		if id, err := second.TryNext(); err == nil {
			t.Errorf("%s: %d in a tick that was used", c.name, id)
		}
	}
}

// A grant is all of its nodes, and no more than its numbers.
func TestNumbersOfAGrant(t *testing.T) {
	r, clk := newSet(), newClock()
	o := Options{Time: clk.Now}
	f := grants(t, bwmarrin, 4, clk)
	f.grant.Nodes = 4
	block := must(r.on(f, o))
	must(block.TryNext())
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

	r = newSet()
	part := grants(t, bwmarrin, 20, clk)
	part.grant.FirstSeq, part.grant.LastSeq = 32, 63
	must(must(r.on(part, o)).TryNext())
	for slice, free := range map[string]bool{
		",last=31": true, ",first=64": true, ",first=32,last=32": false, ",first=63": false, "": false,
	} {
		h, err := r.open(scheme(bwmarrin+slice), 20, o)
		if (err == nil) != free {
			t.Errorf("the numbers %q beside 32 to 63: %v", slice, err)
		}
		if err == nil {
			closed(t, h)
		}
	}
}

// The numbers of a grant that another one replaced stay in use until Close.
func TestGrantInPlaceOfAnother(t *testing.T) {
	r, clk := newSet(), newClock()
	var s seen
	f := grants(t, bwmarrin, 5, clk)
	h := must(r.on(f, Options{Time: clk.Now, Lead: 10}))
	for range 4096 * 5 { // 4 ticks ahead
		s.add(t, must(h.TryNext()))
	}
	first := f.grant
	wall := first.Until
	clk.Advance(time.Minute - time.Millisecond)
	f.set(func(f *granting) { f.grant.Node, f.grant.From, f.grant.Until = 7, wall, wall+60_000 })
	clk.Advance(2 * time.Millisecond)
	id, err := h.Next(t.Context())
	noError(t, err)
	s.add(t, id)
	if p, _ := f.scheme.Decode(id); p.Node != 7 {
		t.Errorf("an ID of node %d", p.Node)
	}
	for _, node := range []int64{5, 7} {
		_, err = r.open(f.scheme, node, Options{Time: clk.Now})
		refused(t, "a node of either grant", err)
	}
	closed(t, h)
	f.gaveBack(t)
	clk.Step(-time.Minute)
	for _, node := range []int64{5, 7} {
		if id, err := open(t, r, bwmarrin, node, Options{Time: clk.Now}).TryNext(); err == nil {
			t.Errorf("%d, below what was used", id)
		}
	}
}

// A first grant that is taken back at once leaves its numbers to others.
func TestFirstGrantTakenBack(t *testing.T) {
	r, clk := newSet(), newClock()
	f := grants(t, bwmarrin, 5, clk)
	taken := &takenBack{granting: f}
	wantErr(t, errOf(r.on(taken, Options{Time: clk.Now})), snowfence.ErrFenced, "")
	must(open(t, r, bwmarrin, 5, Options{Time: clk.Now}).TryNext())
}

// takenBack takes each grant back while it hands it over.
type takenBack struct{ *granting }

func (f *takenBack) Grant(ctx context.Context, after int64) (snowfence.Grant, error) {
	gr, err := f.granting.Grant(ctx, after)
	f.seal()
	return gr, err
}

// A fence that does not answer keeps no caller from the number after Close,
// also if it answers later.
func TestCloseOverAFenceThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, clk := newSet(), newClock()
		clk.Wall = time.Now()
		f := &silent{granting: grants(t, bubble, 5, clk), answer: make(chan struct{})}
		h := must(r.on(f, Options{Time: clk.Now}))
		clk.Advance(2 * time.Minute) // its grant is over
		go h.Next(t.Context())
		synctest.Wait()
		wantErr(t, h.Close(), context.DeadlineExceeded, "Close")
		closed(t, open(t, r, bubble, 5, Options{Time: clk.Now}))
		f.set(func(f *granting) { f.grant.From, f.grant.Until = f.grant.From+1, f.grant.Until+600_000 })
		close(f.answer)
		synctest.Wait()
		closed(t, open(t, r, bubble, 5, Options{Time: clk.Now}))
	})
}

// silent grants once, and then nothing until it may answer.
type silent struct {
	*granting
	answer chan struct{}
	asked  bool
}

func (f *silent) Grant(ctx context.Context, after int64) (snowfence.Grant, error) {
	if f.asked {
		<-f.answer
	}
	f.asked = true
	return f.granting.Grant(ctx, after)
}

func (f *silent) Held(int64) (snowfence.Grant, bool) { return snowfence.Grant{}, false }

// A fence that has the same grant again after a loss uses it above what was
// used, and no other generator does.
func TestSameGrantAfterALoss(t *testing.T) {
	r, clk := newSet(), newClock()
	var s seen
	o := Options{Time: clk.Now}
	f := grants(t, bwmarrin, 5, clk)
	h := must(r.on(f, o))
	s.add(t, must(h.TryNext()))
	f.lose()
	f.set(func(f *granting) { f.gone = false })
	clk.Advance(time.Millisecond)
	s.add(t, must(h.Next(t.Context())))
	_, err := r.open(f.scheme, 5, o)
	refused(t, "beside it", err)
}

// A fence without an end that has its node again after a loss goes on with
// it. Its numbers stay bare until Close, also when a later grant has an
// end.
func TestGrantsWithoutAnEnd(t *testing.T) {
	r, clk := newSet(), newClock()
	var s seen
	o := Options{Time: clk.Now}
	f := grants(t, bwmarrin, 5, clk)
	f.grant.Until = f.scheme.MaxTick() + 1
	h := must(r.on(f, o))
	s.add(t, must(h.TryNext()))
	for _, node := range []int64{5, 7} {
		f.lose()
		clk.Advance(time.Millisecond)
		f.set(func(f *granting) {
			f.gone = false
			f.grant.From++
			if f.grant.Node = node; node == 7 {
				f.grant.Until = f.grant.From + 60_000
			}
		})
		s.add(t, must(h.NextSoon(t.Context())))
	}
	_, err := r.on(grants(t, bwmarrin, 5, clk), o)
	refused(t, "a lease of the first node", err)
}

// A grant far ahead of the clock, of which nothing was used, moves no other
// time.
func TestUnusedGrantRaisesNoFloor(t *testing.T) {
	r, clk := newSet(), newClock()
	f := grants(t, bwmarrin, 5, clk)
	f.grant.From += 30_000
	h := must(r.on(f, Options{Time: clk.Now}))
	closed(t, h)
	must(open(t, r, bwmarrin, 5, Options{Time: clk.Now}).TryNext())
}

// A grant that ends below the floor is of no use: the fence is asked for a
// later one.
func TestFenceIsAskedForTicksAboveTheFloor(t *testing.T) {
	r, clk := newSet(), newClock()
	o := Options{Time: clk.Now}
	clk.Step(2 * time.Minute)
	bare := open(t, r, bwmarrin, 9, o)
	must(bare.TryNext())
	closed(t, bare)
	closed(t, open(t, r, bwmarrin, 9, o)) // lets the one before go
	clk.Step(-2 * time.Minute)
	f := grants(t, bwmarrin, 5, clk)
	wantErr(t, errOf(r.on(f, o)), errGone, "a grant that ends below the floor")
	floor := f.grant.From + 120_001
	if !slices.Equal(f.past, []int64{floor}) {
		t.Errorf("it was asked for more than %d, not %d", f.past, floor)
	}
	f.set(func(f *granting) { f.grant.Until = floor + 1 })
	h := must(r.on(f, o))
	if id, err := h.TryNext(); err == nil {
		t.Errorf("%d below the floor", id)
	}
	clk.Advance(2*time.Minute + time.Millisecond)
	if got := tick(h, must(h.TryNext())); got != floor {
		t.Errorf("tick %d, the floor is %d", got, floor)
	}
	clk.Advance(time.Hour)
	later := grants(t, bwmarrin, 6, clk)
	closed(t, must(r.on(later, o)))
	if !slices.Equal(later.past, []int64{later.grant.From}) {
		t.Errorf("far above the floor it was asked for more than %d, not %d", later.past, later.grant.From)
	}
}

// A renewal needs not reach above a floor that others raised since the
// grant.
func TestRenewalAfterOthersRaisedTheFloor(t *testing.T) {
	r, clk := newSet(), newClock()
	var s seen
	o := Options{Time: clk.Now}
	f := grants(t, bwmarrin, 5, clk)
	h := must(r.on(f, o))
	s.add(t, must(h.TryNext()))
	clk.Step(time.Hour)
	bare := open(t, r, bwmarrin, 6, o)
	s.add(t, must(bare.TryNext()))
	closed(t, bare)
	closed(t, open(t, r, bwmarrin, 6, o)) // lets the one before go
	clk.Step(-time.Hour)
	f.set(func(f *granting) { f.grant.Until += 60_000 })
	clk.Advance(70 * time.Second)
	s.add(t, must(h.TryNext()))
}
