package lease_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
)

// A server raises the floor by itself when its store is another one, above all that holders can
// have written, and only once.
func TestHoldersRaiseTheFloorOfAnotherStore(t *testing.T) {
	x := newLiar(t)
	x.must(x.next(7, x.tick(90*time.Second)+2)) // as far as anybody may
	x.raw.id = "restored"
	for range 3 {
		if err := x.ask(0); err != nil {
			t.Fatal(err)
		}
	}
	if ns := x.namespace(); ns.Floor < x.read(7).Until || ns.Floor > x.tick(2*time.Minute) || ns.Generation != 2 ||
		ns.Identity != "restored" {
		t.Errorf("the namespace is %+v, and granted was until %d", ns, x.read(7).Until)
	}
	// Above a floor that lies far ahead a few ticks may be granted, and the next floor is
	// above those.
	x.now = x.now.Add(-10 * time.Minute)
	x.must(x.next(7, x.namespace().Floor+4))
	if w := x.next(7, x.namespace().Floor+5); !errors.Is(x.swap(w), lease.ErrRefused) {
		t.Error("five ticks were granted above a floor that lies ahead")
	}
	x.must(x.next(7, x.read(7).Until)) // what it has it keeps
	x.raw.id = "restored again"
	if err := x.ask(0); err != nil {
		t.Fatal(err)
	}
	if ns := x.namespace(); ns.Floor < x.read(7).Until {
		t.Errorf("the floor is %d, and granted was until %d", ns.Floor, x.read(7).Until)
	}
}

// goBack sets a node of the store back to what it was.
func (x *liar) goBack(r lease.Record) {
	x.t.Helper()
	if err := x.raw.Swap(x.t.Context(), []lease.Write{{Old: x.read(r.Node).Nonce, New: r}})[0]; err != nil {
		x.t.Fatal(err)
	}
}

// The server believes that a store was rolled back only from a signed record, and counts it once.
func TestHoldersWantProofOfASetBack(t *testing.T) {
	x := newLiar(t)
	x.must(x.next(7, x.tick(10*time.Second)))
	old := x.read(7)
	x.must(x.next(7, x.tick(20*time.Second)))
	seen := x.shown(7)
	if err := x.ask(0, seen); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("the store has not gone back: %v", err)
	}
	x.goBack(old)
	for name, lie := range map[string]func(r *lease.Record){
		"a node":       func(r *lease.Record) { r.Node = 8 },
		"a nonce":      func(r *lease.Record) { r.Nonce += "x" },
		"a revision":   func(r *lease.Record) { r.Revision++ },
		"a generation": func(r *lease.Record) { r.Generation++ },
		"an end":       func(r *lease.Record) { r.Until++ },
		"a signature":  func(r *lease.Record) { r.Data = strings.Repeat("0", 64) },
		"none":         func(r *lease.Record) { r.Data = "" },
		"nothing":      func(r *lease.Record) { *r = lease.Record{Key: r.Key} },
	} {
		r := seen
		lie(&r)
		if err := x.ask(0, r); !errors.Is(err, lease.ErrRefused) || x.namespace().Generation != 1 {
			t.Errorf("the lie is %s: %v", name, err)
		}
	}
	for range 3 {
		if err := x.ask(0, seen, seen); err != nil {
			t.Fatal(err)
		}
	}
	ns := x.namespace()
	if ns.Generation != 2 || ns.Floor <= x.tick(90*time.Second) {
		t.Errorf("the namespace is %+v", ns)
	}
	// What it was shown before is no proof of a rollback to come.
	x.now = x.now.Add(time.Hour)
	if err := x.ask(0, seen); err != nil || x.namespace().Generation != 2 {
		t.Errorf("the floor was raised again, to %+v: %v", x.namespace(), err)
	}
}

// A namespace that was rolled back behind a generation is as good a proof, and the next
// generation is above all that anybody was shown.
func TestHoldersSeeGenerationsVanish(t *testing.T) {
	x := newLiar(t)
	before := x.read(lease.NamespaceNode)
	for _, id := range []string{"two", "three", "four"} {
		x.raw.id = id
		if err := x.ask(0); err != nil {
			t.Fatal(err)
		}
		x.now = x.now.Add(time.Hour)
	}
	x.must(x.next(7, x.tick(20*time.Second)))
	seen := x.shown(7)
	x.raw.id = "one"
	if err := x.raw.Swap(t.Context(), []lease.Write{{
		Old: x.read(lease.NamespaceNode).Nonce,
		New: before,
	}})[0]; err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := x.ask(0, seen); err != nil {
			t.Fatal(err)
		}
	}
	if ns := x.namespace(); ns.Generation != seen.Generation+1 || ns.Floor < seen.Until {
		t.Errorf("the namespace is %+v, and shown was %+v", ns, seen)
	}
}

// Ticks of another layout are no proof: they would move the floor by years.
func TestHoldersKeepProofsOfALayoutApart(t *testing.T) {
	x := newLiar(t)
	x.must(x.next(7, x.tick(10*time.Second)))
	old := x.read(7)
	x.must(x.next(7, x.tick(20*time.Second)))
	seen := x.shown(7)
	to := newScheme(t, strings.Replace(x.scheme.Layout().String(), "tick=1ms", "tick=10ms", 1))
	if to.Layout().Equal(x.scheme.Layout()) {
		t.Fatal("the same layout")
	}
	x.goBack(old)
	if _, err := lease.ChangeNamespace(t.Context(), x.raw, "n", lease.NamespaceChange{
		Scheme: to,
		Force:  true,
	}); err != nil {
		t.Fatal(err)
	}
	before := x.namespace()
	if err := x.ask(0, seen); !errors.Is(err, lease.ErrRefused) || x.namespace().Floor != before.Floor {
		t.Errorf("the floor went from %d to %d: %v", before.Floor, x.namespace().Floor, err)
	}
	if _, err := lease.ChangeNamespace(t.Context(), x.raw, "n", lease.NamespaceChange{
		Scheme: x.scheme,
		Force:  true,
	}); err != nil {
		t.Fatal(err)
	}
	before = x.namespace()
	if err := x.ask(0, seen); !errors.Is(err, lease.ErrRefused) || x.namespace().Floor != before.Floor {
		t.Errorf("back in the layout of before the floor went from %d to %d: %v",
			before.Floor, x.namespace().Floor, err)
	}
}

// Without a key there are no signatures, and what has none proves nothing.
func TestHoldersSignNothingWithoutAKey(t *testing.T) {
	x := newLiar(t)
	x.must(x.next(7, x.tick(10*time.Second)))
	old := x.read(7)
	x.must(x.next(7, x.tick(20*time.Second)))
	seen := x.read(7)
	x.goBack(old)
	r := x.read(lease.NamespaceNode)
	before := r.Nonce
	r.Nonce, r.Revision = "without", r.Revision+1
	r.Data = strings.Replace(r.Data, `"ticket_key"`, `"x"`, 1)
	if err := x.raw.Swap(t.Context(), []lease.Write{{Old: before, New: r}})[0]; err != nil {
		t.Fatal(err)
	}
	if err := x.ask(0, seen); !errors.Is(err, lease.ErrRefused) || x.namespace().Generation != 1 {
		t.Errorf("%+v: %v", x.namespace(), err)
	}
	// A namespace that was made before there were keys gets one when it is first shown.
	if x.shown(7).Data == "" || !strings.Contains(x.read(lease.NamespaceNode).Data, "ticket_key") {
		t.Errorf("shown without a signature: %+v", x.shown(7))
	}
}

// A floor that was raised for something else does not make up for a loss: neither one that is too
// low, nor one of the same generation.
func TestHoldersRaiseALowFloor(t *testing.T) {
	x := newLiar(t)
	x.must(x.next(7, x.tick(10*time.Second)))
	old := x.read(7)
	x.must(x.next(7, x.tick(90*time.Second)+2)) // as far as anybody may
	seen := x.shown(7)
	x.goBack(old)
	x.raise(seen.Until + 5) // by who widens
	if err := x.ask(0, seen); err != nil || x.namespace().Generation != 2 {
		t.Errorf("above its ticks, in the same generation: %+v, %v", x.namespace(), err)
	}
	x = newLiar(t)
	x.must(x.next(7, x.tick(10*time.Second)))
	old = x.read(7)
	x.must(x.next(7, x.tick(90*time.Second)+2))
	seen = x.shown(7)
	x.goBack(old)
	if _, err := lease.DeleteNamespace(t.Context(), x.raw, "n"); err != nil {
		t.Fatal(err)
	}
	if _, err := lease.CreateNamespace(t.Context(), x.raw, "n", x.scheme, nil); err != nil {
		t.Fatal(err)
	}
	x.now = x.now.Add(-time.Hour) // so that what was lost lies further ahead than anybody may write now
	if err := x.ask(0, seen); err != nil || x.namespace().Floor < seen.Until {
		t.Errorf("in a later generation, below its ticks until %d: %+v, %v", seen.Until, x.namespace(), err)
	}
}

// clocked is a store with a time of its own.
type clocked struct {
	*elsewhere
	theirs time.Time
}

func (c *clocked) Now(context.Context) (time.Time, error) { return c.theirs, nil }

// A server whose clock is off does not move everybody's floor.
func TestHoldersWithABadClockRaiseNothing(t *testing.T) {
	x := newLiar(t)
	st := &clocked{x.raw, x.now}
	x.st = lease.Holders(st, func() time.Time { return x.now })
	x.raw.id = "two"
	x.now = x.now.Add(time.Hour)
	if err := x.ask(0); !errors.Is(err, lease.ErrSkew) || x.namespace().Generation != 1 {
		t.Errorf("%+v: %v", x.namespace(), err)
	}
	st.theirs = x.now.Add(-20 * time.Second)
	if err := x.ask(0); err != nil || x.namespace().Generation != 2 {
		t.Errorf("%+v: %v", x.namespace(), err)
	}
}

// What was shown in one namespace proves nothing in another, even if both have the same key, as a
// copy would.
func TestHoldersKeepProofsApart(t *testing.T) {
	x := newLiar(t)
	x.must(x.next(7, x.tick(10*time.Second)))
	old := x.read(7)
	x.must(x.next(7, x.tick(20*time.Second)))
	seen := x.shown(7)
	ns := x.read(lease.NamespaceNode)
	ns.Namespace, old.Namespace = "copy", "copy"
	for _, err := range x.raw.Swap(t.Context(), []lease.Write{{New: ns}, {New: old}}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := json.Marshal(map[string]any{"question": map[string]any{"gone": []any{map[string]any{
		"node": seen.Node, "nonce": seen.Nonce, "revision": seen.Revision, "generation": seen.Generation, "until": seen.Until, "mac": seen.Data,
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	w := lease.Write{New: lease.Record{Key: ns.Key, Nonce: "q", Data: string(data)}}
	if err := x.swap(w); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("accepted: %v", err)
	}
}

// altered is what a lease sees of a server whose answers about nodes are changed.
type altered struct {
	lease.Store
	how atomic.Pointer[func(*lease.Record)]
}

func (a *altered) Get(ctx context.Context, keys []lease.Key) ([]lease.Record, error) {
	rs, err := a.Store.Get(ctx, keys)
	if how := a.how.Load(); how != nil {
		for i := range rs {
			if rs[i].Node >= 0 && rs[i].Nonce != "" {
				(*how)(&rs[i])
			}
		}
	}
	return rs, err
}

// A lease that saw a rollback, and cannot prove it to the server, goes on when all
// that it made lies in the past.
func TestSetBackWithoutProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw, s := lease.NewMemory(), thousand(t)
		if _, err := lease.CreateNamespace(t.Context(), raw, "default", s, nil); err != nil {
			t.Fatal(err)
		}
		st := &altered{Store: lease.Holders(raw, nil)}
		unsigned := func(r *lease.Record) { r.Data = "" }
		st.how.Store(&unsigned)
		node := int64(3)
		// the record that the store is rolled back to
		if err := open(t, st, s, lease.Options{Node: &node}).Close(); err != nil {
			t.Fatal(err)
		}
		restore := setBack(t, raw)
		l := open(t, st, s, lease.Options{Node: &node, Idle: -1})
		defer l.Orphan()
		used := l.Status().Grant
		restore()
		for end := time.Now().Add(4 * ttl); time.Now().Before(end); time.Sleep(ttl / 100) {
			if g := l.Status(); g.Held && g.Grant != used && g.Grant.From < used.Until {
				t.Fatalf("after %+v the lease is granted %+v", used, g.Grant)
			}
		}
		if g := l.Status(); !g.Held || g.Grant == used {
			t.Errorf("it does not go on: %+v", g)
		}
		if ns, err := lease.ShowNamespace(t.Context(), raw, "default"); err != nil || ns.Generation != 1 {
			t.Errorf("the floor was raised without proof: %+v, %v", ns, err)
		}
	})
}

// What is no longer in the store right after it was written is not used.
func TestHoldersLoseWhatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw, s := lease.NewMemory(), thousand(t)
		if _, err := lease.CreateNamespace(t.Context(), raw, "default", s, nil); err != nil {
			t.Fatal(err)
		}
		st := &altered{Store: lease.Holders(raw, nil)}
		node := int64(3)
		l := open(t, st, s, lease.Options{Node: &node, Idle: -1})
		defer l.Orphan()
		used := l.Status().Grant
		other := func(r *lease.Record) { r.Nonce, r.Revision = "somebody's", r.Revision+1 }
		st.how.Store(&other)
		ctx, cancel := context.WithTimeout(t.Context(), ttl)
		defer cancel()
		if g, err := l.Grant(ctx, used.Until); err == nil {
			t.Errorf("after %+v it uses %+v, which somebody else has written over", used, g)
		}
		st.how.Store(nil)
		g, err := snowfence.New(snowfence.Config{Fence: l, MaxWait: 2 * ttl})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}
