package lease

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
)

// Open takes a fixed node over from any holder, with Guard
// only from one of the same label. Healing takes it from none.
func TestWhoGetsAFixedNode(t *testing.T) {
	for name, c := range map[string]struct {
		change         func(g *stage, r *store.Record)
		healing, guard bool
		ok             bool
	}{
		"free":    {func(_ *stage, r *store.Record) { r.Holder = "" }, true, true, true},
		"run out": {func(g *stage, r *store.Record) { r.Until = g.tick(0) }, true, true, true},
		"one tick left": {
			func(g *stage, r *store.Record) { r.Until = g.tick(0) + 1 }, true, true,
			false,
		},
		"taken over":                 {func(*stage, *store.Record) {}, false, false, true},
		"healing":                    {func(*stage, *store.Record) {}, true, false, false},
		"healing, of the same label": {func(_ *stage, r *store.Record) { r.Label = "stage" }, true, false, false},
		"guarded":                    {func(*stage, *store.Record) {}, false, true, false},
		"guarded, of the same label": {func(_ *stage, r *store.Record) { r.Label = "stage" }, false, true, true},
		"healing, its own": {
			func(g *stage, r *store.Record) { r.Holder = g.c.holderOf(1) }, true, true,
			true,
		},
		"healing, held by an earlier layout":  {func(_ *stage, r *store.Record) { r.Generation = 2 }, true, true, true},
		"healing, held since the layout came": {func(_ *stage, r *store.Record) { r.Generation = 3 }, true, true, false},
		"vetoed": {
			func(_ *stage, r *store.Record) { r.Holder, r.Veto = "", "broken" }, false,
			false, false,
		},
	} {
		g := empty(t, withRollback)
		g.change(5, func(r *store.Record) {
			r.Holder, r.Label, r.Generation, r.Until = "other.1", "other", 4, g.tick(time.Hour)
			c.change(g, r)
		})
		g.l.opts.Guard = c.guard
		ns := Namespace{Name: "n", Since: 3, Generation: 5, Nodes: snowfence.NodeRange{Until: 256}}
		rs, err := g.c.fixedBlock(t.Context(), ns, g.now,
			c.healing)
		if (err == nil) != c.ok || c.ok && (len(rs) != 1 || rs[0] != g.record(5)) {
			t.Errorf("%s: %+v, %v", name, rs, err)
		}
		if held := takenAs(err, true); !c.ok && held == (name == "vetoed") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "another process with the same label") !=
			(name == "healing, of the same label") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Options.Check is asked about a fixed node each time, and may refuse it.
func TestCheckOfAFixedNode(t *testing.T) {
	g := empty(t, withRollback)
	ns := g.namespace()
	var asked []int64
	var answer error
	g.l.opts.Check = func(_ context.Context, node int64) error { asked = append(asked, node); return answer }
	if rs, err := g.c.fixedBlock(t.Context(), ns, g.now, false); err != nil || len(rs) != 1 || len(asked) != 1 ||
		asked[0] != 5 {
		t.Errorf("asked about %v: %+v, %v", asked, rs, err)
	}
	answer = errSilent
	if rs, err := g.c.fixedBlock(t.Context(), ns, g.now, false); !errors.Is(err, errSilent) ||
		!errors.Is(err, ErrVetoed) || rs != nil {
		t.Errorf("refused: %+v, %v", rs, err)
	}
}

// The written grant follows the records that
// were read, in the generation of the namespace.
func TestTakeWrites(t *testing.T) {
	g := empty(t, withRollback)
	g.change(5, func(r *store.Record) { r.Revision, r.Generation, r.Until = 7, 1, g.tick(time.Second) })
	g.must(g.do(g.c.acquire(t.Context(), false)))
	r, from := g.record(5), g.tick(time.Second)
	if r.Revision != 8 || r.Generation != 1 || r.Until != g.tick(g.l.opts.TTL) {
		t.Errorf("%+v", r)
	}
	if r.Holder != g.c.holderOf(from) || r.Label != "stage" || len(g.c.own) != 1 || g.c.held.pending ||
		len(g.c.held.unanswered) != 0 {
		t.Errorf("%+v, and %+v is held", r, g.c.held)
	}
	if want := (snowfence.Grant{Node: 5, From: from, Until: r.Until, Nodes: 1}); g.l.use.cur == nil ||
		*g.l.use.cur != want {
		t.Errorf("%+v is used, not %+v", g.l.use.cur, want)
	}
}

// If one record of a block was lost, the others are
// given back. The loss of a single record needs no look.
func TestTakeOfABlockThatIsLost(t *testing.T) {
	for _, c := range []struct {
		nodes      int
		unreadable bool
		gets       int // after the swap
		want       error
	}{{1, false, 0, store.ErrLost}, {2, false, 1, store.ErrLost}, {2, true, 1, errSilent}} {
		g := empty(t, withRollback)
		node := int64(4)
		g.l.opts.Node, g.l.opts.Nodes = &node, c.nodes
		ns := g.namespace()
		rs, err := g.st.Memory.Get(t.Context(), blockKeys("n", 4, c.nodes, 1))
		g.must(err)
		g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			g.st.onSwap, g.st.gets = nil, 0
			if c.unreadable {
				g.st.onGet = func([]store.Key) error { return errSilent }
			}
			g.change(4, func(r *store.Record) { r.Holder = "other.1" })
			return do(ws)
		}
		if err := g.do(g.c.take(t.Context(), ns, rs, g.now)); !errors.Is(err, c.want) || g.st.gets != c.gets ||
			g.l.use.cur != nil {
			t.Errorf("%d nodes: %d reads, %v", c.nodes, g.st.gets, err)
		}
		if r := g.record(5); (r.Holder != "") != c.unreadable {
			t.Errorf("%d nodes: %+v", c.nodes, r)
		}
		if g.record(4).Holder != "other.1" ||
			(g.c.lostHold == nil) != c.unreadable || (g.c.held == nil) == c.unreadable {
			t.Errorf("%d nodes: %+v is held, and %+v was lost", c.nodes, g.c.held, g.c.lostHold)
		}
	}
}

// A record of a later generation than the namespace's is taken
// only if the namespace has not changed since it was read.
func TestRecordOfALaterGeneration(t *testing.T) {
	for name, c := range map[string]struct {
		record, then int64 // generations of the record, and of the namespace when it is read again
		unreadable   bool
		reads        int
		want         string
	}{
		"earlier":                {4, 6, false, 0, "taken"},
		"the same":               {5, 6, false, 0, "taken"},
		"later":                  {6, 6, false, 1, "lost"},
		"later, and made again":  {6, 5, false, 1, "taken"},
		"later, and unreadable":  {6, 6, true, 1, "silent"},
		"later, as if unchanged": {6, 5, true, 1, "silent"},
	} {
		g := empty(t, withRollback)
		ns := g.namespace()
		ns.Generation = 5
		g.rename(func(ns *Namespace) { ns.Generation = c.then })
		if c.unreadable {
			g.st.onGet = func([]store.Key) error { return errSilent }
		}
		g.st.gets = 0
		err := g.c.outdated(t.Context(), ns, []store.Record{{}, {Generation: c.record}, {Generation: c.record}})
		is := map[bool]string{err == nil: "taken", isLost(err): "lost", errors.Is(err, errSilent): "silent"}[true]
		if is != c.want || g.st.gets != c.reads {
			t.Errorf("%s: %d reads, %v", name, g.st.gets, err)
		}
		rs := []store.Record{{Key: store.Key{Namespace: "n", Node: 5}, Generation: c.record}}
		if err := g.do(g.c.take(t.Context(), ns, rs, g.now)); c.want != "taken" && (err == nil || g.c.held != nil) {
			t.Errorf("%s: taken, %v", name, err)
		}
	}
}

// An unanswered acquisition counts if it was written, after a renewal.
// If not, or if another process came since, the node is acquired again.
func TestSettle(t *testing.T) {
	for name, c := range map[string]struct {
		written bool
		then    func(g *stage)
		want    error
		ok      bool
	}{
		"written":     {true, func(*stage) {}, nil, true},
		"not written": {false, func(*stage) {}, nil, true},
		"taken since": {true, func(g *stage) {
			g.change(5, func(r *store.Record) { r.Holder, r.Until = "other.1", g.tick(time.Hour) })
		}, nil, false},
		"not read": {true, func(g *stage) { g.st.onGet = func([]store.Key) error { return errSilent } }, errSilent, false},
		"read once": {false, func(g *stage) {
			g.st.onGet = func([]store.Key) error {
				g.st.onGet = func([]store.Key) error { g.st.onGet = nil; return errSilent }
				return nil
			}
		}, errSilent, false},
		"renewed":    {true, func(g *stage) { g.now = g.now.Add(time.Second) }, nil, true},
		"without id": {true, func(g *stage) { g.st.idErr = errSilent }, errSilent, false},
	} {
		g := empty(t, withRollback)
		g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			g.st.onSwap = nil
			if c.written {
				do(ws)
			}
			return silent(len(ws))
		}
		if err := g.do(g.c.acquire(t.Context(), false)); !errors.Is(err, errSilent) {
			t.Fatal(err)
		}
		c.then(g)
		before, h := g.record(5), g.c.held
		err := g.do(g.c.proceed(t.Context()))
		if (err == nil) != c.ok || (g.l.use.cur != nil) != c.ok || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %+v is used, %v", name, g.l.use.cur, err)
		}
		r := g.record(5)
		switch {
		case c.ok && (r.Revision != before.Revision+1 || g.l.use.cur.Until != r.Until):
			t.Errorf("%s: %+v after %+v", name, r, before)
		case !c.ok && c.want == nil && r != before:
			t.Errorf("%s: taken from its holder: %+v after %+v", name, r, before)
		case name == "read once" && (g.c.held != h || r != before):
			t.Errorf("%s: %+v is held", name, g.c.held)
		}
	}
}

// What is not held is acquired, and what is held is renewed.
func TestProceed(t *testing.T) {
	g := empty(t, withRollback)
	for revision := range int64(2) {
		if err := g.do(g.c.proceed(t.Context())); err != nil || g.record(5).Revision != revision+1 {
			t.Errorf("%+v, %v", g.record(5), err)
		}
	}
	if r := g.record(5); r.Holder != g.c.holderOf(g.l.use.cur.From) {
		t.Errorf("acquired anew: %+v", r)
	}
	others(g, 5)
	if err := g.do(g.c.proceed(t.Context())); !isLost(err) {
		t.Errorf("another holder: %v", err)
	}
	if err := g.do(g.c.proceed(t.Context())); !errors.Is(err, ErrTaken) || g.record(5).Holder != "other.1" {
		t.Errorf("the node is taken back from its holder: %+v, %v", g.record(5), err)
	}
	g = empty(t, withRollback)
	g.st.idErr = store.ErrReplaced
	if _, err := g.c.next(t.Context()); !errors.Is(err, store.ErrReplaced) || isLost(err) {
		t.Errorf("a lease that had nothing lost it: %v", err)
	}
}
