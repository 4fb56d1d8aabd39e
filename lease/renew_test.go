package lease

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// The tests here take the steps of a lease one by one,
// without a keeper, over a store with chosen answers.

// scripted is a store in memory whose answers a test can change.
type scripted struct {
	*store.Memory
	id          string
	idErr       error
	clock       time.Time // zero: it has none
	clockErr    error
	onGet       func(keys []store.Key) error
	onList      func(namespace string) error
	onSwap      func(writes []store.Write, do func([]store.Write) []error) []error
	listErr     error
	gets, swaps int
	suspected   int // identities since
	suspectErr  error
	idErrAfter  error // of Identity, after the store was suspected
}

func (s *scripted) Heads(ctx context.Context) ([]store.Record, error) {
	if s.listErr != nil {
		return nil, s.listErr
	}
	return s.Memory.Heads(ctx)
}

func (s *scripted) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, error) {
	if s.listErr != nil {
		return nil, s.listErr
	}
	if s.onList != nil {
		if err := s.onList(namespace); err != nil {
			return nil, err
		}
	}
	return s.Memory.List(ctx, namespace, nodes, limit)
}

func (s *scripted) Get(ctx context.Context, keys []store.Key) ([]store.Record, error) {
	if s.gets++; s.gets > 1000 {
		panic("the store was asked a thousand times") // a loop that has no end
	}
	if s.onGet != nil {
		if err := s.onGet(keys); err != nil {
			return nil, err
		}
	}
	return s.Memory.Get(ctx, keys)
}

func (s *scripted) Swap(ctx context.Context, writes []store.Write) []error {
	s.swaps++
	do := func(ws []store.Write) []error { return s.Memory.Swap(context.Background(), ws) }
	if s.onSwap != nil {
		return s.onSwap(writes, do)
	}
	return do(writes)
}

func (s *scripted) Identity(context.Context, string) (string, error) { return s.id, s.idErr }

func (s *scripted) Now(context.Context) (time.Time, error) { return s.clock, s.clockErr }

var errSilent = errors.New("no answer")

// silent is the answer to writes that may be done or not.
func silent(n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = errSilent
	}
	return errs
}

// stage is a lease that holds node 5, at a time that stands still until it is moved.
type stage struct {
	*testing.T
	st  *scripted
	l   *Lease
	c   *storeClaim // of l
	now time.Time
}

// empty returns a stage whose lease holds nothing yet.
func empty(t *testing.T, spec string, keys ...*snowfence.Secret) *stage {
	t.Helper()
	layout, err := snowfence.ParseLayout(spec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := snowfence.NewScheme(layout, keys...)
	if err != nil {
		t.Fatal(err)
	}
	g := &stage{T: t, st: &scripted{Memory: store.NewMemory(), id: "one"}, now: time.Date(2026, 1, 1, 0, 0, 0, 0,
		time.UTC)}
	node := int64(5)
	o := &Options{Node: &node, Label: "stage", Time: func() (time.Time, time.Duration) { return g.now, 0 }}
	opts, err := o.normal(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Namespaces(g.st).Create(t.Context(), "n", s, nil); err != nil {
		t.Fatal(err)
	}
	g.c = newClaim(newSetup(world.Real(), "n", s, opts), g.st)
	if err := g.c.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.st.swaps = 0
	g.l = newLease(g.c.setup, g.c)
	return g
}

const withRollback = "time=41,rollback=2,node=8,seq=12,epoch=2025-01-01"

func holding(t *testing.T) *stage {
	t.Helper()
	g := empty(t, withRollback)
	g.must(g.do(g.c.acquire(t.Context(), false)))
	return g
}

// do keeps what an operation of the claim was granted, or lost, as a keeper does.
func (g *stage) do(grant snowfence.Grant, err error) error {
	if err == nil {
		g.l.publish(grant)
	}
	return g.l.sealIfLost(err)
}

func (g *stage) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *stage) record(node int64) store.Record {
	g.Helper()
	rs, err := g.st.Memory.Get(g.Context(), []store.Key{{Namespace: "n", Node: node}})
	g.must(err)
	return rs[0]
}

// change writes a record by other means.
func (g *stage) change(node int64, f func(*store.Record)) {
	g.Helper()
	r := g.record(node)
	old := r.Nonce
	r.Nonce = old + "+"
	f(&r)
	g.must(g.st.Memory.Swap(g.Context(), []store.Write{{Old: old, New: r}})[0])
}

// rename writes the namespace by other means.
func (g *stage) rename(f func(*Namespace)) {
	g.Helper()
	ns, err := readNamespace(g.Context(), g.st.Memory, "n")
	g.must(err)
	f(&ns)
	_, err = ns.write(g.Context(), g.st.Memory)
	g.must(err)
}

// late makes the next write come in only when the one after it is sent, just before that.
func (g *stage) late() {
	g.st.onSwap = func(first []store.Write, _ func([]store.Write) []error) []error {
		g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			g.st.onSwap = nil
			do(first)
			return do(ws)
		}
		return silent(len(first))
	}
}

// A renewal that meets a late write of its own does not count.
// The lease uses nothing of it, and goes on from the late write.
func TestRenewalAfterLateWrite(t *testing.T) {
	g := holding(t)
	before := *g.l.use.cur
	g.late()
	g.now = g.now.Add(time.Second)
	if err := g.do(g.c.renew(t.Context())); !errors.Is(err, errSilent) {
		t.Fatal(err)
	}
	g.now = g.now.Add(time.Second)
	if err := g.do(g.c.renew(t.Context())); err == nil || isLost(err) {
		t.Fatalf("a write of our own came in between: %v", err)
	}
	if *g.l.use.cur != before {
		t.Errorf("a write that was lost is used: %+v after %+v", *g.l.use.cur, before)
	}
	g.must(g.do(g.c.renew(t.Context())))
	if r := g.record(5); g.l.use.cur.Until != r.Until || r.Until <= before.Until {
		t.Errorf("after the next renewal %+v is used, and %+v stands there", *g.l.use.cur, r)
	}
	if len(g.c.held.unanswered) != 0 {
		t.Errorf("%d writes are still in doubt", len(g.c.held.unanswered))
	}
}

// A renewal in doubt that meets another process's write
// is a loss, even if it cannot be read whose it is.
func TestRenewalInDoubtAndSomebodyElse(t *testing.T) {
	for name, unreadable := range map[string]bool{"read": false, "unreadable": true} {
		g := holding(t)
		g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
		_ = g.do(g.c.renew(t.Context()))
		g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			g.change(5, func(r *store.Record) { r.Holder = "other" })
			if unreadable {
				g.st.onGet = func([]store.Key) error { return errSilent }
			}
			return do(ws)
		}
		if err := g.do(g.c.renew(t.Context())); !isLost(err) {
			t.Errorf("%s: %v", name, err)
		}
		if g.l.use.cur != nil || g.c.held != nil {
			t.Errorf("%s: still used: %+v", name, g.l.use.cur)
		}
		if g.l.trouble == nil {
			t.Errorf("%s: who asks for a grant does not learn why there is none", name)
		}
	}
}

// After the end of its ctx a renewal sends nothing, so Close knows the last write.
func TestNothingIsSentAfterTheEnd(t *testing.T) {
	g := holding(t)
	ctx, cancel := context.WithCancel(t.Context())
	g.st.swaps = 0
	g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
	cancel()
	if err := g.do(g.c.renew(ctx)); !errors.Is(err, context.Canceled) || g.st.swaps != 0 {
		t.Errorf("%v, and %d writes", err, g.st.swaps)
	}
}

// What is in doubt is bounded, and forgotten once a later write stands.
func TestDoubtIsBounded(t *testing.T) {
	g := holding(t)
	g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
	for range 2 * maxUnanswered {
		_ = g.do(g.c.renew(t.Context()))
	}
	if n := len(g.c.held.unanswered); n != maxUnanswered {
		t.Errorf("%d writes in doubt are remembered, not %d", n, maxUnanswered)
	}
	g.st.onSwap = nil
	g.must(g.do(g.c.renew(t.Context())))
	if n := len(g.c.held.unanswered); n != 0 {
		t.Errorf("%d writes are in doubt after one was acknowledged", n)
	}
}

// A lapsed grant needs the namespace, and ticks. Without them nothing is written.
func TestLapsedGrantIsTakenAnewOrNotAtAll(t *testing.T) {
	g := holding(t)
	before := g.record(5)
	g.now = g.now.Add(8 * time.Hour)
	g.st.onGet = func(keys []store.Key) error {
		if keys[0].Node == store.NamespaceNode {
			return errSilent
		}
		return nil
	}
	if err := g.do(g.c.renew(t.Context())); !errors.Is(err, errSilent) {
		t.Errorf("without the namespace: %v", err)
	}
	g.st.onGet = nil
	g.now = g.now.Add(100 * 365 * 24 * time.Hour)
	if err := g.do(g.c.renew(t.Context())); !errors.Is(err, snowfence.ErrLifetime) {
		t.Errorf("after the last tick: %v", err)
	}
	if r := g.record(5); r != before {
		t.Errorf("written nevertheless: %+v after %+v", r, before)
	}
}

// An acknowledged write counts only if the namespace is as
// it was when the write was computed. A lower generation, or
// no namespace, means a rollback. Any other change does not.
func TestConfirmReadsTheNamespace(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*Namespace)
		held    bool // by a lease that held it before, not by one that acquires
		ok      bool
		suspect bool
	}{
		"nothing":                        {func(*Namespace) {}, false, true, false},
		"a later generation":             {func(ns *Namespace) { ns.Generation++ }, true, false, false},
		"an earlier generation":          {func(ns *Namespace) { ns.Generation-- }, true, false, true},
		"a state without a generation":   {func(ns *Namespace) { ns.State = Changing }, true, false, false},
		"a floor, during an acquisition": {func(ns *Namespace) { ns.Floor += 5 }, false, false, false},
		"a floor, during a renewal":      {func(ns *Namespace) { ns.Floor += 5 }, true, true, false},
		"a floor and a generation":       {func(ns *Namespace) { ns.Floor, ns.Generation = ns.Floor+5, ns.Generation-1 }, false, false, true},
		"a store":                        {func(ns *Namespace) { ns.Identity = "another" }, true, false, true},
	} {
		g := empty(t, withRollback)
		act := func() error { return g.do(g.c.acquire(t.Context(), false)) }
		if c.held {
			g.must(act())
			act = func() error { return g.do(g.c.renew(t.Context())) }
		}
		g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			g.st.onSwap = nil
			errs := do(ws)
			g.rename(c.change)
			return errs
		}
		err := act()
		if (err == nil) != c.ok || err != nil && !isLost(err) || (g.l.use.cur != nil) != c.ok {
			t.Errorf("%s changed after the swap: %v, and %+v is used", name, err, g.l.use.cur)
		}
		if (g.c.suspect != nil) != c.suspect {
			t.Errorf("%s changed after the swap: a rollback is suspected: %t", name, g.c.suspect != nil)
		}
	}
}

// A lease that lost a swap asks again until it knows to whom.
func TestDiagnosisIsRepeated(t *testing.T) {
	g := holding(t)
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
		g.change(5, func(r *store.Record) { r.Revision-- })
		return do(ws)
	}
	if err := g.do(g.c.renew(t.Context())); !isLost(err) {
		t.Fatal(err)
	}
	g.st.onGet = func([]store.Key) error { return errSilent }
	if err := g.c.diagnose(t.Context()); !errors.Is(err, errSilent) || g.c.lostHold == nil {
		t.Errorf("without an answer: %v, asked again: %t", err, g.c.lostHold != nil)
	}
	g.st.onGet = nil
	g.must(g.c.diagnose(t.Context()))
	if g.c.suspect == nil || g.c.lostHold != nil {
		t.Error("a revision that went back was not noticed")
	}
}
