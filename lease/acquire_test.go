package lease

import (
	"errors"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// A lease that saw a rollback gets a grant after
// anybody raised the floor above its own ticks.
func TestSuspectWantsARaisedFloor(t *testing.T) {
	for _, c := range []struct {
		saw, generation, known, floor int64
		id                            string
		then                          int64 // generation
	}{
		{3, 3, 0, 100, "one", 4},
		{3, 4, 100, 100, "one", 4},
		{3, 4, 101, 100, "one", 5},
		{3, 2, 0, 100, "one", 4},
		{3, 4, 100, 100, "two", 5},
	} {
		g := empty(t, withRollback)
		g.rename(func(ns *Namespace) { ns.Generation, ns.Floor = c.generation, c.floor })
		g.st.id, g.c.reached, g.c.suspect = c.id, c.known, &c.saw
		g.must(g.do(g.c.acquire(t.Context(), false)))
		raised := c.then != c.generation
		if ns := g.namespace(); ns.Generation != c.then || raised != (ns.Floor > c.floor) || ns.Identity != c.id ||
			g.c.suspect != nil {
			t.Errorf("%+v: %+v", c, ns)
		}
		if r := g.record(5); raised != (r.From > g.tick(0)) || r.Generation != c.then {
			t.Errorf("%+v: granted %+v", c, r)
		}
	}
}

// If the store does not answer, an acquisition ends before
// any write, and the suspicion of a rollback stays.
func TestAcquireWithoutAnswers(t *testing.T) {
	free := func(g *stage) { g.l.opts.Node = nil }
	saw := int64(1)
	for name, c := range map[string]struct {
		hurt func(g *stage)
		want error
	}{
		"who was faster": {func(g *stage) {
			g.c.lostHold = &hold{records: []store.Record{{Key: store.Key{Namespace: "n", Node: 7}}}}
			g.st.onGet = func(keys []store.Key) error {
				if keys[0].Node == 7 {
					return errSilent
				}
				return nil
			}
		}, errSilent},
		"a suspect": {func(g *stage) {
			g.c.suspect = &saw
			g.st.onGet = func([]store.Key) error { g.st.onGet = nil; return errSilent }
		}, errSilent},
		"the time":  {func(g *stage) { g.st.clockErr = errSilent }, errSilent},
		"the clock": {func(g *stage) { g.st.clock = g.now.Add(time.Hour) }, ErrSkew},
		"the namespace": {
			func(g *stage) { g.st.onGet = func([]store.Key) error { g.st.onGet = nil; return errSilent } },
			errSilent,
		},
		"a fixed node": {func(g *stage) {
			g.st.onGet = func(keys []store.Key) error {
				if keys[0].Node == 5 {
					g.st.onGet = nil
					return errSilent
				}
				return nil
			}
		}, errSilent},
		"no node within": {func(g *stage) {
			free(g)
			g.l.opts.Within = snowfence.NodeRange{From: 10, Until: 12}
			g.rename(func(ns *Namespace) { ns.Nodes.Until = 10 })
		}, nil},
		"free nodes": {func(g *stage) {
			free(g)
			g.rename(func(ns *Namespace) { ns.Nodes.Until = ns.Nodes.From + 1 })
			g.change(0, func(r *store.Record) { r.Veto = "broken" })
			g.st.listErr = errSilent
		}, errSilent},
		"used up": {func(g *stage) { g.now = g.now.Add(100 * 365 * 24 * time.Hour) }, snowfence.ErrLifetime},
	} {
		g := empty(t, withRollback)
		c.hurt(g)
		suspect, swaps := g.c.suspect, g.st.swaps
		if err := g.do(g.c.acquire(t.Context(), false)); err == nil || c.want != nil && !errors.Is(err, c.want) ||
			g.l.use.cur != nil {
			t.Errorf("%s: %v", name, err)
		}
		if g.st.swaps != swaps || g.c.held != nil || g.c.suspect != suspect {
			t.Errorf("%s: %d writes, and %+v is held", name, g.st.swaps-swaps, g.c.held)
		}
	}
}

// anyNode returns a stage whose lease takes any of the nodes 5 and 6. Both
// were leased before. The first that it tries to take is changed just then.
func anyNode(t *testing.T, change func(g *stage, node int64)) *stage {
	g := empty(t, withRollback)
	g.l.opts.Node = nil
	g.rename(func(ns *Namespace) { ns.Nodes = snowfence.NodeRange{From: 5, Until: 7} })
	for node := range int64(2) {
		g.change(node+5, func(r *store.Record) { r.Generation, r.Revision = 1, 7 })
	}
	g.st.swaps = 0
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
		g.st.onSwap = nil
		change(g, ws[0].New.Node)
		return do(ws)
	}
	return g
}

// others take the node.
func others(g *stage, node int64) {
	g.change(node, func(r *store.Record) { r.Holder, r.Revision, r.Until = "other.1", 8, g.tick(time.Hour) })
}

// If another process was faster, the next free node is tried. If
// the store was rolled back instead, the floor is raised first.
func TestAcquireAfterALoss(t *testing.T) {
	for name, c := range map[string]struct {
		hurt       func(g *stage, node int64)
		generation int64 // of the namespace afterwards
		want       error
	}{
		"another process":  {others, 1, nil},
		"a store set back": {func(g *stage, node int64) { g.change(node, func(r *store.Record) { r.Revision = 6 }) }, 2, nil},
		"no answer says": {func(g *stage, node int64) {
			g.change(node, func(r *store.Record) { r.Revision = 8 })
			g.st.onGet = func([]store.Key) error { g.st.onGet = nil; return errSilent }
		}, 1, errSilent},
	} {
		g := anyNode(t, c.hurt)
		err := g.do(g.c.acquire(t.Context(), false))
		if !errors.Is(err, c.want) || (g.l.use.cur != nil) != (c.want == nil) ||
			g.namespace().Generation != c.generation {
			t.Errorf("%s: %+v, %v", name, g.namespace(), err)
		}
		if c.want != nil && g.st.swaps != 1 {
			t.Errorf("%s: %d writes", name, g.st.swaps)
		}
	}
	// Without an answer nothing else is tried.
	g := anyNode(t, func(*stage, int64) {})
	g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
	if err := g.do(g.c.acquire(t.Context(), false)); !errors.Is(err, errSilent) || g.st.swaps != 1 ||
		g.c.held == nil || !g.c.held.pending {
		t.Errorf("no answer: %d writes, %v", g.st.swaps, err)
	}
}
