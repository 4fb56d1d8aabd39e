package lease

import (
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// owed returns what is given back of the grant that the claim has, nil if its generator was not
// sealed.
func (g *stage) owed(used int64, sealed bool) *owed {
	if !sealed || g.c.held == nil {
		return nil
	}
	return &owed{g.c.held.records[0].Node, g.c.held.from, used}
}

// A give-back writes no holder. Only with a sealed generator it
// lowers the end, to what was used, and never below the grant.
func TestGiveBackWrites(t *testing.T) {
	for name, c := range map[string]struct {
		used   func(g *stage) int64
		sealed bool
		want   func(g *stage, from, until int64) int64
	}{
		"not sealed": {func(g *stage) int64 { return g.l.use.cur.From + 7 }, false, func(_ *stage, _, until int64) int64 { return until }},
		"sealed":     {func(g *stage) int64 { return g.l.use.cur.From + 7 }, true, func(_ *stage, from, _ int64) int64 { return from + 7 }},
		"unused":     {func(*stage) int64 { return 0 }, true, func(_ *stage, from, _ int64) int64 { return from }},
		"used up":    {func(g *stage) int64 { return g.l.use.cur.Until + 7 }, true, func(_ *stage, _, until int64) int64 { return until }},
	} {
		g := holding(t)
		from, until, revision := g.l.use.cur.From, g.l.use.cur.Until, g.record(5).Revision
		g.st.gets, g.st.swaps = 0, 0
		g.must(g.c.giveBack(t.Context(), g.owed(c.used(g), c.sealed)))
		if r := g.record(5); r.Holder != "" || r.Revision != revision+1 ||
			r.Until != c.want(g, from, until) {
			t.Errorf("%s: of [%d, %d) there stands %+v", name, from, until, r)
		}
		if g.st.gets != 0 || g.st.swaps != 1 || g.c.lostHold != nil || g.c.held != nil {
			t.Errorf("%s: %d reads, %d writes; lost %v, held %v", name, g.st.gets, g.st.swaps, g.c.lostHold, g.c.held)
		}
		g.must(g.c.giveBack(t.Context(), g.owed(0, true))) // nothing is held
		if g.st.swaps != 1 {
			t.Errorf("%s: given back twice", name)
		}
	}
}

// A give-back after a renewal without a reply: the renewal
// came in before, comes in between, or never does.
func TestGiveBackInDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		renewal func(g *stage)
		swaps   int
	}{
		"came in": {func(g *stage) {
			g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
				do(ws)
				return silent(len(ws))
			}
		}, 1},
		"comes in between": {func(g *stage) { g.late() }, 2},
		"never comes in": {func(g *stage) {
			g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
		}, 1},
	} {
		g := holding(t)
		used := g.l.use.cur.From + 3
		c.renewal(g)
		if err := g.do(g.c.renew(t.Context())); !errors.Is(err, errSilent) {
			t.Fatal(err)
		}
		if name != "comes in between" {
			g.st.onSwap = nil
		}
		g.st.swaps = 0
		g.must(g.c.giveBack(t.Context(), g.owed(used, true)))
		if r := g.record(5); r.Holder != "" || r.Until != used || g.st.swaps != c.swaps {
			t.Errorf("a renewal that %s: %+v, in %d writes", name, r, g.st.swaps)
		}
	}
}

// A give-back that does not know what is stored writes nothing, keeps the hold, and can be
// repeated.
func TestGiveBackWithoutAnswer(t *testing.T) {
	g := holding(t)
	g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
	_ = g.do(g.c.renew(t.Context()))
	g.st.onSwap, g.st.swaps = nil, 0
	g.st.onGet = func([]store.Key) error { return errSilent }
	if err := g.c.giveBack(t.Context(), g.owed(0, true)); !errors.Is(err, errSilent) || g.st.swaps != 0 ||
		g.c.held == nil {
		t.Errorf("%v, with %d writes", err, g.st.swaps)
	}
	g.st.onGet = nil
	g.must(g.c.giveBack(t.Context(), g.owed(0, true)))
	if r := g.record(5); r.Holder != "" {
		t.Errorf("not given back at last: %+v", r)
	}
}

// What another process holds is left alone, with one write, and looked at before the next
// acquisition.
func TestGiveBackOfSomebodyElses(t *testing.T) {
	g := holding(t)
	h := g.c.held
	g.change(5, func(r *store.Record) { r.Holder = "other" })
	before := g.record(5)
	g.st.swaps = 0
	g.must(g.c.giveBack(t.Context(), g.owed(0, true)))
	if g.record(5) != before || g.st.swaps != 1 {
		t.Errorf("%+v, in %d writes", g.record(5), g.st.swaps)
	}
	if g.c.lostHold != h || g.c.held != nil {
		t.Error("no look whether the store was rolled back")
	}
}

// An unanswered acquisition is given back as one of which nothing was used.
func TestGiveBackOfAnAcquisitionInDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		stored bool
		repeat bool // the first try has no answer
	}{"stored": {true, false}, "not stored": {false, false}, "stored, in two tries": {true, true}} {
		g := empty(t, withRollback)
		g.must(g.do(g.c.acquire(t.Context(), false)))
		g.must(g.c.giveBack(t.Context(), g.owed(0, true)))
		g.now = g.now.Add(time.Hour)
		g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			if c.stored {
				do(ws)
			}
			return silent(len(ws))
		}
		if err := g.do(g.c.acquire(t.Context(), false)); !errors.Is(err, errSilent) {
			t.Fatal(err)
		}
		from := g.c.held.from
		if c.repeat {
			if err := g.c.giveBack(t.Context(), g.owed(0, false)); !errors.Is(err, errSilent) || g.c.held == nil {
				t.Errorf("%s: without an answer: %v", name, err)
			}
		}
		g.st.onSwap, g.st.swaps = nil, 0
		g.must(g.c.giveBack(t.Context(), g.owed(0, false)))
		r := g.record(5)
		switch {
		case c.stored && (r.Holder != "" || r.Until != from):
			t.Errorf("%s: %+v; the grant began at %d", name, r, from)
		case !c.stored && g.st.swaps != 0:
			t.Errorf("%s: %d writes", name, g.st.swaps)
		}
		if g.c.held != nil {
			t.Errorf("%s: still held", name)
		}
	}
}

// An acquisition in doubt that another process has taken by now is its own.
func TestGiveBackOfATakenAcquisition(t *testing.T) {
	g := holding(t)
	g.must(g.c.giveBack(t.Context(), g.owed(0, true)))
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error { do(ws); return silent(len(ws)) }
	_ = g.do(g.c.acquire(t.Context(), false))
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
		g.change(5, func(r *store.Record) { r.Holder = "other" })
		return do(ws)
	}
	g.must(g.c.giveBack(t.Context(), g.owed(0, true)))
	if r := g.record(5); r.Holder != "other" || g.c.held != nil {
		t.Errorf("%+v", r)
	}
}

// Of a block that was acquired without an answer, and of which another process has a node by now,
// the others are given back.
func TestGiveBackOfHalfABlockInDoubt(t *testing.T) {
	g := empty(t, withRollback)
	g.l.opts.Node, g.l.opts.Nodes = new(int64(4)), 2
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
		if ws[0].New.Node != 4 {
			return do(ws)
		}
		g.change(5, func(r *store.Record) { r.Holder = "other.1" })
		do(ws)
		return silent(len(ws))
	}
	if err := g.do(g.c.acquire(t.Context(), false)); !errors.Is(err, errSilent) || g.record(4).Holder == "" {
		t.Fatalf("%v: %+v", err, g.record(4))
	}
	g.st.onSwap = nil
	g.must(g.c.giveBack(t.Context(), nil))
	if four, five := g.record(4), g.record(5); four.Holder != "" || five.Holder != "other.1" {
		t.Errorf("%+v and %+v", four, five)
	}
}
