package claim

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// A copy asks whether the store was rolled back behind what it held, but
// not behind what was perhaps never written.
func TestForgottenHold(t *testing.T) {
	for _, pending := range []bool{false, true} {
		g := holding(t)
		h, who := g.c.held, g.c.who
		h.pending = pending
		g.c.Forget()
		if (g.c.lostHold == h) == pending || g.c.held != nil || g.c.who == who || g.c.kept.Load() != nil {
			t.Errorf("pending %v: %+v", pending, g.c)
		}
		g.c.lostHold = nil
		if g.c.Forget(); g.c.lostHold != nil {
			t.Errorf("pending %v: nothing was held, and is lost", pending)
		}
	}
	c, _ := served(t, true)
	grant := c.grant
	c.earlier = []string{"an attempt"}
	c.Forget()
	if c.ticket != nil || string(c.lost) != "0" || c.earlier != nil || c.lastGrant != grant {
		t.Errorf("%+v", c)
	}
	c.Forget() // nothing is held
	if string(c.lost) != "0" {
		t.Errorf("the lost ticket is %q", c.lost)
	}
}

// A holder over a server gives nothing back when its machine was copied,
// and settles nothing.
func TestCopiedServedLease(t *testing.T) {
	c, k := served(t, true)
	var counter atomic.Uint64
	c.SetMachine(world.At(&counter))
	c.earlier = []string{"an attempt"}
	counter.Add(1)
	if err := c.GiveBack(t.Context(), &Owed{5, 10, 50}); err != nil || k.calls != 0 {
		t.Errorf("%d calls, %v", k.calls, err)
	}
}

// The node that the store keeps for longest is the one that was asked for
// first.
func TestLongestKeptNode(t *testing.T) {
	g := empty(t, playLayout)
	for _, c := range []struct{ node, until, kept, keptUntil int64 }{
		{5, 10, 5, 10},
		{6, 10, 5, 10},
		{7, 9, 5, 10},
		{8, 11, 8, 11},
	} {
		g.must(g.c.noteSend(t.Context(), c.node, c.until))
		if k := g.c.kept.Load(); k.Node != c.kept || k.Until != c.keptUntil {
			t.Errorf("%+v: %+v", c, k)
		}
	}
}

// watcher is a context that ends while it is asked whether it has ended.
type watcher struct {
	context.Context
	see func()
}

func (w watcher) Err() error {
	w.see()
	return context.Canceled
}

// A write is noted before its context is looked at. So the goroutine that
// ends that context and then reads kept knows of every write
// that is sent. A write that is not sent leaves no note.
func TestNotedBeforeItIsSent(t *testing.T) {
	g := empty(t, playLayout)
	g.must(g.c.noteSend(t.Context(), 5, 10))
	var seen Kept
	err := g.c.noteSend(watcher{t.Context(), func() { seen = *g.c.kept.Load() }}, 6, 20)
	if !errors.Is(err, context.Canceled) || seen != (Kept{6, 20}) || *g.c.kept.Load() != (Kept{5, 10}) {
		t.Errorf("%v: kept %+v when it was looked at, and %+v now", err, seen, *g.c.kept.Load())
	}
}

// A claim knows its last 65 writes, and no older one.
func TestWritesThatAClaimKnows(t *testing.T) {
	g := empty(t, playLayout)
	r := store.Record{Holder: "a", Nonce: g.c.nonce()}
	for n := range maxUnanswered + 1 {
		if !g.c.mine(r) {
			t.Errorf("its write is another's after %d more", n)
		}
		g.c.nonce()
	}
	if g.c.mine(r) {
		t.Errorf("%d writes are known", len(g.c.nonces))
	}
}
