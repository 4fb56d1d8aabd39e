package lease

import (
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/claim"
	"github.com/snowfence/snowfence/lease/store"
)

// resumable is a machine that a test resumes from a snapshot. The kernel's
// randomness goes on in the same way in all copies; the processor's
// differs.
type resumable struct {
	world.World
	counter   *atomic.Uint64
	drawn     *int // by the kernel
	processor uint64
}

func newResumable() resumable { return resumable{world.Real(), new(atomic.Uint64), new(int), 1} }

func (w resumable) Machine() world.Machine { return world.At(w.counter) }

func (w resumable) Text() string {
	*w.drawn++
	return world.Text([32]byte{byte(*w.drawn), byte(*w.drawn >> 8)}, w.processor, 0)
}

// on returns a stage on a machine, with a lease of any node, without a
// keeper.
func on(t *testing.T, w resumable) *stage {
	t.Helper()
	g := empty(t, "time=41,node=10,seq=12,epoch=2025-01-01")
	n := g.l.setup.Settings
	n.Node = nil
	g.on(w, g.l.setup.Scheme, n)
	return g
}

// again resumes the machine of a stage from a snapshot of now: what is in
// memory is the same.
func (g *stage) again(w resumable, processor uint64) *stage {
	counter, drawn := new(atomic.Uint64), *w.drawn
	counter.Store(w.counter.Load())
	d := &stage{T: g.T, st: g.st, o: g.o, now: g.now}
	r := &reporter{namespace: "n", world: w, logger: g.l.setup.Logger}
	t := shallow(g.l.setup).(*claim.Setup)
	t.World, t.Report = resumable{w.World, counter, &drawn, processor}, r.report
	t.Clock = claim.ClockOf(func() (time.Time, time.Duration) { return d.now, 0 }, t.Scheme)
	t.SetMachine(t.World.Machine())
	c := shallow(g.l.claim)
	reflect.ValueOf(c).Elem().FieldByName("Setup").Set(reflect.ValueOf(t))
	d.l = newLease(t, c.(claim.Claim), r, d.o.idle())
	d.l.use = g.l.use
	counter.Add(1)
	return d
}

// shallow returns a copy of what a pointer points to.
func shallow(pointer any) any {
	v := reflect.ValueOf(pointer).Elem()
	out := reflect.New(v.Type())
	out.Elem().Set(v)
	return out.Interface()
}

// heal attends the lease until it has a grant, or fails the test.
func (g *stage) heal() snowfence.Grant {
	g.Helper()
	ctx := g.Context()
	g.must(g.l.heal(ctx, g.l.attempt(ctx)))
	grant, ok := g.l.Held(0)
	if !ok {
		g.Fatal("a lease that healed holds nothing")
	}
	return grant
}

// One machine is resumed twice, with equal randomness of the kernel, and
// goes on as well. Of the three leases, the first keeps its node. The
// others drop it at once, tell the generator, touch none of its record, and
// take nodes of their own.
func TestCopiedLease(t *testing.T) {
	w := newResumable()
	g := on(t, w)
	g.must(g.l.attempt(t.Context()))
	first, ok := g.l.Held(0)
	if !ok {
		t.Fatal("no grant")
	}
	stages := []*stage{g.again(w, 2), g.again(w, 3)}
	was := g.record(first.Node)
	seen := map[int64]bool{first.Node: true}
	for i, d := range stages {
		sealed := 0
		must(d.l.Bind(func() int64 { sealed++; return first.From + 5 }))
		d.l.mu.Lock()
		d.l.use.cur, d.l.use.handed = &first, true
		d.l.mu.Unlock()
		if grant, ok := d.l.Held(0); ok {
			t.Errorf("copy %d: %+v is held before anybody looked", i, grant)
		}
		d.l.pace.renewAt = time.Now().Add(time.Hour)
		if wait := d.l.plan(); wait > 0 {
			t.Errorf("copy %d: its keeper waits for %v", i, wait)
		}
		err := d.l.attempt(t.Context())
		if !claim.IsLost(err) || sealed != 1 || d.l.use.cur != nil ||
			!strings.Contains(err.Error(), "resumed from a snapshot") {
			t.Errorf("copy %d: %v, sealed %d times, %+v", i, err, sealed, d.l.use)
		}
		if got := g.record(first.Node); got != was {
			t.Errorf("copy %d wrote %+v over %+v", i, got, was)
		}
	}
	for i, d := range stages {
		grant := d.heal()
		if seen[grant.Node] {
			t.Errorf("copy %d took node %d, which another one has", i, grant.Node)
		}
		seen[grant.Node] = true
	}
	g.must(g.l.attempt(t.Context())) // it renews
	if grant, ok := g.l.Held(0); !ok || grant.Node != first.Node {
		t.Errorf("the machine that went on has %+v, not node %d", grant, first.Node)
	}
	for _, d := range stages {
		d.must(d.l.attempt(t.Context()))
	}
}

// What a copy was about to give back stays taken: the other one may use
// more of it.
func TestCopiedLeaseGivesNothingBack(t *testing.T) {
	for name, end := range map[string]func(d *stage, grant snowfence.Grant) error{
		"release": func(d *stage, grant snowfence.Grant) error {
			return d.l.Release(d.Context(), grant, grant.From+1)
		},
		"close": func(d *stage, _ snowfence.Grant) error {
			close(d.l.done)
			return d.l.Close()
		},
		"owed": func(d *stage, grant snowfence.Grant) error {
			d.l.use.owed, d.l.use.spent = &claim.Owed{Node: grant.Node, From: grant.From, Used: grant.From + 1}, true
			err := d.l.attempt(d.Context())
			if !claim.IsLost(err) || d.l.use.owed != nil || d.l.use.spent {
				return errors.Join(errors.New("it is not forgotten"), err)
			}
			return nil
		},
		"opening": func(d *stage, _ snowfence.Grant) error { return d.l.claim.GiveBack(d.Context(), nil) },
	} {
		w := newResumable()
		g := on(t, w)
		g.must(g.l.attempt(t.Context()))
		grant, _ := g.l.Held(0)
		d := g.again(w, 2)
		was := g.record(grant.Node)
		wantErr(t, end(d, grant), nil, "%s", name)
		if got := g.record(grant.Node); got != was {
			t.Errorf("%s: a copy wrote %+v over %+v", name, got, was)
		}
	}
}

// The machine is resumed while the store answers: the answer is not used,
// of the first grant and of a renewal.
func TestCopiedWhileTheStoreAnswers(t *testing.T) {
	for _, renewal := range []bool{false, true} {
		w := newResumable()
		g := on(t, w)
		if renewal {
			g.must(g.l.attempt(t.Context()))
		}
		var was string // the identity
		g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			g.st.onSwap = nil
			errs := do(ws)
			w.counter.Add(1)
			was, _, _ = strings.Cut(ws[0].New.Holder, ".")
			return errs
		}
		if err := g.l.attempt(t.Context()); !claim.IsLost(err) || g.l.use.cur != nil {
			t.Errorf("renewal %v: %v, %+v", renewal, err, g.l.use)
		}
		if grant := g.heal(); was == "" || strings.HasPrefix(g.record(grant.Node).Holder, was) {
			t.Errorf("renewal %v: node %d is not of the new identity", renewal, grant.Node)
		}
	}
}

// The identity of after a resumption is made after it is known which
// resumption that is.
func TestCopiedAgainWhileForgetting(t *testing.T) {
	w := newResumable()
	g := on(t, w)
	g.must(g.l.attempt(t.Context()))
	w.counter.Add(1)
	g.l.setup.World = whileTexts{w, func() { w.counter.Add(1) }}
	if err := g.l.forget(); !claim.IsLost(err) || g.l.trouble == nil {
		t.Fatal(err)
	}
	if !g.l.setup.Copied() {
		t.Error("an identity that a second copy has counts as this machine's alone")
	}
}

// whileTexts calls something while a text is drawn.
type whileTexts struct {
	world.World
	call func()
}

func (w whileTexts) Text() string {
	defer w.call()
	return w.World.Text()
}

// The machine is resumed while a lease is opened: an error gives nothing
// back.
func TestCopiedWhileALeaseIsOpened(t *testing.T) {
	w := newResumable()
	g := on(t, w)
	var node int64
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
		g.st.onSwap = nil
		errs := do(ws)
		w.counter.Add(1)
		node = ws[0].New.Node
		g.st.onGet = func([]store.Key) error { return errSilent }
		return errs
	}
	if _, err := g.l.claim.Open(t.Context()); !errors.Is(err, errSilent) {
		t.Fatal(err)
	}
	if r := g.record(node); r.Holder == "" {
		t.Errorf("%+v was given back", r)
	}
}
