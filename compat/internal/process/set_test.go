package process

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

const bwmarrin = "time=41,node=10,seq=12"

// newClock returns a clock that a test moves.
var newClock = tests.NewClock

func open(t testing.TB, r *set, spec string, node int64, o Options) *Handle {
	t.Helper()
	return must(r.open(scheme(spec), node, o))
}

// seen fails a test when an ID comes twice.
type seen struct {
	mu  sync.Mutex
	ids map[snowfence.ID]bool
}

func (s *seen) add(t testing.TB, id snowfence.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids = map[snowfence.ID]bool{}
	}
	if s.ids[id] {
		t.Errorf("%d came twice", id)
	}
	s.ids[id] = true
}

func tick(h *Handle, id snowfence.ID) int64 {
	p := must(h.Scheme().Decode(id))
	return p.Tick
}

func TestEqualPartsShareOneGenerator(t *testing.T) {
	r := newSet()
	a, b := open(t, r, bwmarrin, 7, Options{}), open(t, r, bwmarrin, 7, Options{})
	parts := open(t, r, "time=41,zone=5,rack=5,seq=12", 7, Options{}) // other words for the same numbers
	other := open(t, r, bwmarrin, 8, Options{})
	g := a.gen.Load()
	if b.gen.Load() != g || parts.gen.Load() != g {
		t.Error("equal parts have two generators")
	}
	if other.gen.Load() == g {
		t.Error("two nodes have one generator")
	}
	for _, o := range []Options{{Lead: 7}, {Replace: true}} { // it is in use
		if h := open(t, r, bwmarrin, 7, o); h.gen.Load() != g {
			t.Errorf("%+v: another generator of a part in use", o)
		}
	}
	for _, o := range []Options{{From: 5}, {Until: 1 << 40}} {
		wantErr(t, errOf(r.open(scheme(bwmarrin), 7, o)), ErrOverlap, "%+v", o)
	}
	clk := Options{Time: newClock().Now}
	wantErr(t, errOf(r.open(scheme(bwmarrin), 7, clk)), ErrOverlap, "with a clock of its own")
	open(t, r, bwmarrin, 10, clk)
	wantErr(t, errOf(r.open(scheme(bwmarrin), 10, Options{})), ErrOverlap, "beside one with a clock of its own")
	if got := len(parts.Scheme().Layout().Fields); got != 4 {
		t.Errorf("a handle has another's scheme: %d fields", got)
	}
}

// The same low bits with more time bits are the same numbers, but end at
// another time.
func TestOtherTimeBitsAreNotEqual(t *testing.T) {
	r := newSet()
	h := open(t, r, bwmarrin, 7, Options{})
	for _, spec := range []string{"time=40,node=10,seq=12", "time=40,zone=5,rack=5,seq=12"} {
		wantErr(t, errOf(r.open(scheme(spec), 7, Options{})), ErrOverlap, "%s", spec)
	}
	runtime.KeepAlive(h)
}

func TestOverlapIsRefusedOrReplaced(t *testing.T) {
	for _, c := range []struct {
		spec string
		node int64
		free bool
	}{
		{bwmarrin + ",first=5,last=9", 7, false},
		{"time=41,node=9,seq=13", 3, false}, // nodes 6 and 7 of 10 bits
		{"time=41,node=9,seq=13", 4, true},
		{"time=41,node=11,seq=11", 15, false},
		{"time=41,node=11,seq=11", 16, true},
		{bwmarrin + ",first=5", 7, false},
		{bwmarrin + ",last=9", 7, false},
		{bwmarrin + ",first=5", 8, true},
		{"time=41,seq=12,node=10", 7, false}, // every sequence number is an upper part
		{"time=41,seq=2,node=20", 7 << 12, false},
		{"time=41,seq=2,node=20", 8 << 12, true},
		{bwmarrin + ",tick=10ms", 7, true},
		{bwmarrin + ",epoch=2024-01-01", 7, true},
	} {
		r, clk := newSet(), newClock()
		o := Options{Time: clk.Now}
		old := open(t, r, bwmarrin, 7, o)
		last := must(old.TryNext())
		h, err := r.open(scheme(c.spec), c.node, o)
		if c.free {
			wantErr(t, err, nil, "%+v", c)
			must(old.TryNext())
			continue
		}
		if !errors.Is(err, ErrOverlap) || h != nil {
			t.Errorf("%+v: refused with %v", c, err)
		}
		must(old.TryNext()) // it goes on
		o.Replace = true
		h = open(t, r, c.spec, c.node, o)
		wantErr(t, errOf(old.TryNext()), snowfence.ErrClosed, "%+v: the replaced one says", c)
		wantErr(t, errOf(h.TryNext()), snowfence.ErrExhausted, "%+v: the new one uses the tick of the old one", c)
		clk.Advance(time.Millisecond)
		if got := tick(h, must(h.TryNext())); got != tick(old, last)+1 {
			t.Errorf("%+v: tick %d after %d", c, got, tick(old, last))
		}
		closed(t, old) // counts no user off the new one
		must(h.TryNext())
		if len(r.unused) != 0 {
			t.Errorf("%+v: a generator that was let go counts as unused", c)
		}
	}
}

// A space remembers the highest tick of all that it let go, not of the
// last.
func TestFloorIsAboveAllThatWasUsed(t *testing.T) {
	r, clk := newSet(), newClock()
	var s seen
	o := Options{Time: clk.Now}
	clk.Advance(time.Hour)
	a := open(t, r, bwmarrin, 1, o)
	id := must(a.TryNext())
	s.add(t, id)
	high := tick(a, id)
	clk.Step(-time.Hour)
	b := open(t, r, bwmarrin, 2, o) // it begins in the past, beside a
	s.add(t, must(b.TryNext()))
	noError(t, errors.Join(a.Close(), b.Close()))
	clk.Advance(20 * time.Millisecond)
	for _, node := range []int64{1, 2, 3} { // a is let go, and then b
		h := open(t, r, bwmarrin, node, o)
		if id, err := h.TryNext(); err == nil {
			t.Errorf("node %d made %d below the floor", node, id)
		}
		closed(t, h)
	}
	clk.Step(time.Hour)
	clk.Advance(time.Second)
	for _, node := range []int64{1, 2, 3} {
		h := open(t, r, bwmarrin, node, o)
		id := must(h.TryNext())
		s.add(t, id)
		if got := tick(h, id); got <= high {
			t.Errorf("node %d: tick %d, and %d was used", node, got, high)
		}
	}
}

// A generator is closed before the floor is read: sealed alone, it would
// ask its fence again.
func TestNothingIsMadeAboveTheFloorThatIsRead(t *testing.T) {
	r, clk := newSet(), newClock()
	o := Options{Time: clk.Now, Replace: true}
	old := open(t, r, bwmarrin, 1, o)
	must(old.TryNext())
	u := old.use
	seal := u.seal
	u.seal = func() int64 {
		used := seal()
		clk.Advance(time.Millisecond)
		if id, err := old.TryNext(); err == nil {
			t.Errorf("%d was made in tick %d, and the floor is %d", id, tick(old, id), used)
		}
		return used
	}
	open(t, r, bwmarrin+",first=5", 1, o)
}

func panicOf(f func() snowfence.ID) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// A space that is used up to its last tick has no new generators.
func TestEndOfLife(t *testing.T) {
	const spec = "time=10,node=2,seq=2,epoch=2026-05-04,tick=1s"
	r, clk := newSet(), newClock()
	clk.Step(time.Date(2026, 5, 4, 0, 17, 3, 0, time.UTC).Sub(clk.Wall)) // tick 1023, the last
	h := open(t, r, spec, 1, Options{Time: clk.Now})
	must(h.TryNext())
	noError(t, h.Close())
	wantErr(t, errOf(r.open(scheme(spec), 1, Options{Time: clk.Now})), snowfence.ErrLifetime,
		"a new one in a used up space")
	r = newSet()
	h = open(t, r, spec, 1, Options{Time: clk.Now})
	clk.Advance(time.Second)
	wantErr(t, errOf(h.Next(t.Context())), snowfence.ErrLifetime, "Next")
	if err, _ := panicOf(h.Must).(error); !errors.Is(err, snowfence.ErrLifetime) {
		t.Errorf("Must panicked with %v", err)
	}
}

// A layer whose original leaves out the first ticks has no ID of them, and
// a floor above them stays where it is.
func TestFirstTick(t *testing.T) {
	r, c := newSet(), newClock()
	spec := "time=41,node=10,seq=2,epoch=" + c.Wall.Format(time.RFC3339)
	o := Options{From: 3, Time: c.Now}
	h := open(t, r, spec, 7, o)
	wantErr(t, errOf(h.TryNext()), snowfence.ErrExhausted, "before the first tick")
	c.Advance(3 * time.Millisecond)
	if got := tick(h, must(h.TryNext())); got != 3 {
		t.Errorf("the first ID has tick %d", got)
	}
	c.Advance(5 * time.Millisecond)
	if got := tick(h, must(h.TryNext())); got != 8 {
		t.Errorf("tick %d", got)
	}
	noError(t, h.Close())
	again := open(t, r, spec, 7, o) // it has its own clock, so the old one was let go
	wantErr(t, errOf(again.TryNext()), snowfence.ErrExhausted, "in a tick that was used")
	c.Advance(time.Millisecond)
	if got := tick(again, must(again.TryNext())); got != 9 {
		t.Errorf("after a restart: tick %d", got)
	}
}

// NextSoon says why after a second, where Next goes on waiting.
func TestNextSoonGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		h := open(t, newSet(), "time=41,node=10,seq=1", 7, Options{Time: c.Now})
		defer h.Close()
		for range 2 {
			must(h.NextSoon(context.Background()))
		}
		start := time.Now() // the clock of the generator stands still
		wantErr(t, errOf(h.NextSoon(context.Background())), snowfence.ErrExhausted, "a full tick")
		if waited := time.Since(start); waited < time.Second || waited > 2*time.Second {
			t.Errorf("it waited %v", waited)
		}
		noError(t, h.Close())
		if _, err := h.NextSoon(context.Background()); err != snowfence.ErrClosed {
			t.Errorf("after Close: %v", err)
		}
	})
}

// A bare number ends where its options say, and later once it is extended.
func TestExtend(t *testing.T) {
	r, clk := newSet(), newClock()
	from := scheme(bwmarrin).Layout().TickOf(clk.Wall)
	o := Options{From: from, Until: from + 2, Time: clk.Now}
	h := open(t, r, bwmarrin, 7, o)
	must(h.TryNext())
	clk.Advance(2 * time.Millisecond)
	wantErr(t, errOf(h.TryNext()), snowfence.ErrFenced, "after the end")
	if h.Extend(from+2) || h.Extend(from+1) || h.Until() != from+2 || !h.Extend(from+5) || h.Until() != from+5 {
		t.Fatalf("it ends at %d", h.Until()-from)
	}
	id, err := h.Next(t.Context())
	if err != nil || tick(h, id) != from+2 {
		t.Errorf("after Extend: %d, %v", id, err)
	}
	o.Replace, o.Until = true, from+9 // another end is another generator, above what was used
	other := open(t, r, bwmarrin, 7, o)
	above(t, other, clk, new(seen))
	o.Until = from + 3
	tests.Fails(t, errOf(r.open(scheme(bwmarrin), 7, o)), "all of its ticks were used")
	must(other.TryNext())
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }
