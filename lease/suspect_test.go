package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// Suspect gives the stage's store another identity.
func (s *scripted) Suspect(_ context.Context, identity string) error {
	if s.id == identity {
		s.id += " and another"
		s.suspected++
	}
	s.idErr = s.idErrAfter
	return s.suspectErr
}

// gone lets a record vanish.
func (g *stage) gone(node int64) {
	g.Helper()
	g.change(node, func(r *store.Record) { *r = store.Record{Key: r.Key} })
}

// A record that was acknowledged, and is gone or older, gives the store another identity. One that
// was only read says nothing: a database may show what a crash then undoes.
func TestWhatShowsALoss(t *testing.T) {
	swapOnce := func(g *stage, before func()) {
		g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			g.st.onSwap = nil
			before()
			return do(ws)
		}
	}
	for name, c := range map[string]struct {
		harm func(g *stage)
		want int
	}{
		"a record is gone":           {func(g *stage) { g.gone(5) }, 1},
		"a record is older":          {func(g *stage) { g.change(5, func(r *store.Record) { r.Revision-- }) }, 1},
		"a record is another's":      {func(g *stage) { g.change(5, func(r *store.Record) { r.Revision++ }) }, 0},
		"the namespace is older":     {func(g *stage) { g.rename(func(ns *Namespace) { ns.Generation-- }) }, 1},
		"the namespace is another's": {func(g *stage) { g.rename(func(ns *Namespace) { ns.Generation++ }) }, 0},
		"another's record, in an older namespace": {func(g *stage) {
			g.change(5, func(r *store.Record) { r.Revision++ })
			g.rename(func(ns *Namespace) { ns.Generation-- })
		}, 1},
		"the namespace is gone":    {func(g *stage) { g.gone(store.NamespaceNode) }, 1},
		"the store is another one": {func(g *stage) { g.st.id = "two" }, 0},
		"another did it": {func(g *stage) {
			g.gone(5)
			g.rename(func(ns *Namespace) { ns.Generation, ns.Floor = ns.Generation+1, g.c.reached })
		}, 0},
		"somebody has, in an older namespace": {func(g *stage) {
			g.gone(5)
			g.rename(func(ns *Namespace) { ns.Floor = g.c.reached })
		}, 0},
		"it has another identity by now": {func(g *stage) { g.gone(5); g.st.id = "two" }, 0},
		"a write that was only read": {func(g *stage) {
			before := g.record(5)
			g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
				do(ws)
				return silent(len(ws))
			}
			_, _ = g.c.renew(t.Context()) // has no answer
			swapOnce(g, func() { g.change(5, func(r *store.Record) { *r = before }) })
		}, 0},
	} {
		g := holding(t)
		c.harm(g)
		for range 3 {
			_ = g.do(g.c.next(t.Context()))
		}
		if g.st.suspected != c.want {
			t.Errorf("%s: the store got another identity %d times, want %d", name, g.st.suspected, c.want)
		}
	}
	for name, harm := range map[string]func(g *stage){
		"an acquisition that was never acknowledged": func(g *stage) { g.gone(5) },
		"a namespace that is older than one": func(g *stage) {
			g.change(5, func(r *store.Record) { r.Revision++ })
			g.rename(func(ns *Namespace) { ns.Generation-- })
		},
	} {
		g := empty(t, withRollback)
		swapOnce(g, func() { harm(g) })
		g.change(5, func(r *store.Record) { r.Revision = 3 })
		if err := g.do(g.c.next(t.Context())); err == nil || g.st.suspected != 0 {
			t.Errorf("%s: %v, %d", name, err, g.st.suspected)
		}
	}
}

// One acknowledged write of a block that is gone is a loss, whatever is known of the others.
func TestLossOfABlock(t *testing.T) {
	for name, c := range map[string]struct {
		acked []int64
		want  bool
	}{
		"the first was acknowledged": {[]int64{3, 0}, true},
		"the last was":               {[]int64{0, 3}, true},
		"an earlier write was":       {[]int64{2, 2}, false},
		"none was":                   {[]int64{0, 0}, false},
	} {
		g := empty(t, withRollback)
		h := &hold{acked: c.acked, generation: 1, records: []store.Record{{Revision: 3}, {Revision: 3}}}
		g.c.noticeRollback(h, []store.Record{{Nonce: "a", Revision: 2}, {Nonce: "b", Revision: 2}})
		if g.c.proven != c.want || g.c.suspect == nil {
			t.Errorf("%s: proven %t, suspected %v", name, g.c.proven, g.c.suspect)
		}
	}
}

// A namespace that is older than a hold is a proven loss where a write of it was acknowledged.
func TestOlderNamespace(t *testing.T) {
	for _, acked := range []int64{0, 1} {
		g := holding(t)
		h := *g.c.held
		h.acked = []int64{acked}
		g.rename(func(ns *Namespace) { ns.Generation-- })
		g.c.lostHold = &h
		if err := g.c.diagnose(t.Context()); err != nil || g.c.suspect == nil || g.c.proven != (acked > 0) {
			t.Errorf("acknowledged %d: %v, suspected %t, proven %t", acked, err, g.c.suspect != nil, g.c.proven)
		}
	}
}

// A namespace that is gone stays so, and all are told only of a write that was acknowledged.
func TestSuspicionWithoutNamespace(t *testing.T) {
	for _, proven := range []bool{true, false} {
		g := holding(t)
		g.gone(store.NamespaceNode)
		g.c.suspect, g.c.proven = &g.c.held.generation, proven
		err := g.c.raiseIfSuspected(t.Context())
		if !errors.Is(err, ErrNoNamespace) || g.st.suspected > 0 != proven {
			t.Errorf("proven %t: %v, %d", proven, err, g.st.suspected)
		}
	}
}

// A namespace whose floor is raised has the identity that the store has after the loss.
func TestIdentityIsReadAfterALoss(t *testing.T) {
	g := holding(t)
	g.gone(5)
	g.st.idErrAfter = errSilent
	for range 3 {
		if err := g.do(g.c.next(t.Context())); err == nil {
			t.Fatal("a node was granted in a store of unknown identity")
		}
	}
	if ns := g.namespace(); ns.Generation != 1 || g.st.suspected != 1 {
		t.Errorf("generation %d, %d identities", ns.Generation, g.st.suspected)
	}
}

// A store that does not answer is asked again, and grants nothing until it does.
func TestLossIsToldAgain(t *testing.T) {
	g := holding(t)
	g.gone(5)
	g.st.suspectErr = errSilent
	for range 3 {
		if err := g.do(g.c.next(t.Context())); err == nil {
			t.Fatal("a store that lost a write granted another node before all were told")
		}
	}
	g.st.suspectErr = nil
	g.must(g.do(g.c.next(t.Context())))
	if ns, err := readNamespace(t.Context(), g.st, "n"); err != nil || ns.Identity != g.st.id || g.st.suspected != 1 {
		t.Errorf("%+v, %v; the store is %q", ns, err, g.st.id)
	}
}

// turns counts the identities of a store.
type turns struct {
	*store.Memory
	mu sync.Mutex
	n  int
}

func (s *turns) Suspect(ctx context.Context, identity string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, _ := s.Identity(ctx, ""); id == identity {
		s.n++
	}
	return s.Memory.Suspect(ctx, identity)
}

// apart is a store that does not answer until it is let go.
type apart struct {
	store.Store
	gone *atomic.Bool
}

func (a apart) Get(ctx context.Context, keys []store.Key) ([]store.Record, error) {
	if a.gone.Load() {
		return nil, errSilent
	}
	return a.Store.Get(ctx, keys)
}

func (a apart) Swap(ctx context.Context, ws []store.Write) []error {
	if a.gone.Load() {
		return silent(len(ws))
	}
	return a.Store.Swap(ctx, ws)
}

// Two rows are deleted under 100 holders of two namespaces. One holder notices, and all of both
// begin above what was granted, once. The other one comes late, and nothing happens again.
func TestDeletedRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout, err := snowfence.ParseLayout("time=41,node=8,seq=12,epoch=1999-01-01,tick=1ms")
		if err != nil {
			t.Fatal(err)
		}
		s, err := snowfence.NewScheme(layout)
		if err != nil {
			t.Fatal(err)
		}
		st, late := &turns{Memory: store.NewMemory()}, new(atomic.Bool)
		var all []*Lease
		var top int64
		for i := range int64(100) {
			name, through := fmt.Sprint("n", i%2), store.Store(st)
			if i == 98 {
				through = apart{st, late}
			}
			l, err := Open(t.Context(), through, name, s, &Options{Create: true, Node: &i})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Orphan()
			all, top = append(all, l), max(top, l.Status().Grant.Until)
		}
		late.Store(true)
		for _, node := range []int64{1, 98} {
			key := store.Key{Namespace: fmt.Sprint("n", node%2), Node: node}
			rs, err := st.Get(t.Context(), []store.Key{key})
			if err == nil {
				err = st.Swap(t.Context(), []store.Write{{Old: rs[0].Nonce, New: store.Record{Key: key}}})[0]
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		look := func(when string) {
			t.Helper()
			for i := range 2 {
				ns, err := Namespaces(st).Show(t.Context(), fmt.Sprint("n", i))
				if err != nil || ns.Generation != 2 || ns.Floor < top || st.n != 1 {
					t.Errorf("%s: %d identities since, floor %d after %d, generation %d, %v", when, st.n, ns.Floor,
						top, ns.Generation, err)
				}
			}
			for i, l := range all {
				if g := l.Status().Grant; (i != 98 || !late.Load()) && g.From < top {
					t.Errorf("%s: node %d is granted %+v, and %d was", when, i, g, top)
				}
			}
		}
		time.Sleep(DefaultTTL)
		look("all but one")
		late.Store(false)
		time.Sleep(4 * DefaultTTL)
		look("the last")
		if slices.ContainsFunc(all, func(l *Lease) bool { return !l.Status().Held }) {
			t.Error("a lease makes no IDs")
		}
	})
}

// The nodes of a block may have been written unequally often before it was leased. A ticket that
// was lost to another holder of such a block shows no rollback.
func TestLostTicketOfABlock(t *testing.T) {
	w := newTicketWorld(t)
	node := int64(8)
	o := w.options()
	o.Node = &node
	for range 5 {
		if _, err := acquired(t.Context(), w.st, "n", w.scheme, wire.Request{}, o); err != nil {
			t.Fatal(err)
		}
	}
	o.Nodes = 2
	var tickets [2]ticket
	for i := range tickets {
		var err error
		if tickets[i], err = acquired(t.Context(), w.st, "n", w.scheme, wire.Request{}, o); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := w.st.Identity(t.Context(), "n")
	if _, err := tickets[0].Renew(t.Context(), w.st, w.scheme, rand.Text(), nil, o); !errors.Is(err, store.ErrLost) {
		t.Error(err)
	}
	r := wire.Request{Lost: tickets[0].bytes()}
	if _, err := acquired(t.Context(), w.st, "n", w.scheme, r, o); err != nil {
		t.Error(err)
	}
	if id, _ := w.st.Identity(t.Context(), "n"); id != before || w.generation() != 1 {
		t.Errorf("the store was %q and is %q, in generation %d", before, id, w.generation())
	}
}

// A holder that saw a loss raises the floor above what it was granted, by a clock that was ahead,
// and is content with a floor that is. A grant without a tick says nothing about what was used.
func TestRaiseAboveWhatWasGranted(t *testing.T) {
	for name, done := range map[string]bool{"nobody did it": false, "another did it": true} {
		g := holding(t)
		g.c.reached += 1 << 30
		reached := g.c.reached
		g.c.note(1<<60, 1<<60)
		g.gone(5)
		if done {
			g.rename(func(ns *Namespace) { ns.Generation, ns.Floor = ns.Generation+1, reached })
		}
		for range 2 {
			_ = g.do(g.c.next(t.Context()))
		}
		if ns := g.namespace(); ns.Floor != reached || (g.st.suspected == 0) != done {
			t.Errorf("%s: the floor is %d, granted %d, %d suspicions", name, ns.Floor, reached, g.st.suspected)
		}
	}
}
