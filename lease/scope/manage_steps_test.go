package scope

import (
	"errors"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// operators are what changes the record of one node.
func operators(g *stage) map[string]func(node int64) (store.Record, error) {
	return map[string]func(node int64) (store.Record, error){
		"release": func(node int64) (store.Record, error) { return Namespaces(g.st).Release(g.Context(), "n", node) },
		"veto":    func(node int64) (store.Record, error) { return Namespaces(g.st).Veto(g.Context(), "n", node, "broken") },
	}
}

// An operator's write is repeated where another process wrote at the same
// time, and ends with any other error, without a record.
func TestOperatorsWithoutAnswers(t *testing.T) {
	unread := func(node int64) func(*stage) {
		return func(g *stage) {
			g.st.onGet = func(keys []store.Key) error {
				if keys[0].Node == node {
					return errSilent
				}
				return nil
			}
		}
	}
	for _, name := range []string{"release", "veto"} {
		ready := func() *stage {
			g := holding(t)
			g.change(5, func(r *store.Record) { r.From, r.Until = g.tick(1e9), g.tick(2e9) })
			return g
		}
		g := ready()
		g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			g.st.onSwap = nil
			g.change(5, func(r *store.Record) { r.Revision++ })
			return do(ws)
		}
		if r, err := operators(g)[name](5); err != nil || r != g.record(5) || r.Holder != "" {
			t.Errorf("%s: written at the same time: %+v, %v", name, r, err)
		}
		for why, hurt := range map[string]func(g *stage){
			"no write": func(g *stage) {
				g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
			},
			"no namespace": unread(store.NamespaceNode),
			"no node":      unread(5),
		} {
			g := ready()
			before := g.record(5)
			hurt(g)
			if r, err := operators(g)[name](5); !errors.Is(err, errSilent) || r != (store.Record{}) ||
				g.record(5) != before {
				t.Errorf("%s, %s: %+v, %v", name, why, r, err)
			}
		}
	}
}

// Operators change nodes of the layout only, and ones that were vetoed in
// another, and leave one alone that was never leased.
func TestOperatorsOfNodes(t *testing.T) {
	g := holding(t)
	g.change(300, func(r *store.Record) { r.Veto = "broken" })
	for node, ok := range map[int64]bool{-1: false, 0: true, 255: true, 256: false, 300: true} {
		if _, err := Namespaces(g.st).Veto(t.Context(), "n", node, "broken"); (err == nil) != ok {
			t.Errorf("node %d: %v", node, err)
		}
	}
	g.rename(func(ns *Namespace) { ns.Floor = 77 })
	r, err := Namespaces(g.st).Veto(t.Context(), "n", 9, "broken")
	if err != nil || r.From != 77 || r.Until != 77 || r.Generation != g.namespace().Generation {
		t.Errorf("a veto of a node that was never leased: %+v, %v", r, err)
	}
	if r, err := Namespaces(g.st).Veto(t.Context(), "n", 9, ""); err != nil || r.Veto != "" {
		t.Errorf("a veto that is lifted: %+v, %v", r, err)
	}
	if r, err := Namespaces(g.st).Release(t.Context(), "n", 10); err != nil || r.Nonce != "" ||
		g.record(10).Nonce != "" {
		t.Errorf("released, and was never leased: %+v, %v", r, err)
	}
	held := g.record(5)
	if r, err := Namespaces(g.st).Release(t.Context(), "n", 5); err != nil || r.Holder != "" || r.Until != held.Until ||
		r.Generation != held.Generation {
		t.Errorf("released: %+v, %v", r, err)
	}
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
		g.st.onSwap = nil
		g.rename(func(ns *Namespace) { ns.Unit, ns.Generation = 4, ns.Generation+1 })
		return do(ws)
	}
	r, err = Namespaces(g.st).Veto(t.Context(), "n", 22, "broken")
	if err != nil || r.Node != 20 || g.record(20) != r {
		t.Errorf("vetoed, while the unit changed: %+v, %v", r, err)
	}
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
		g.st.onGet = func([]store.Key) error { return errSilent } // as a moved store is
		return do(ws)
	}
	r, err = Namespaces(g.st).Veto(t.Context(), "n", 30, "broken")
	if !errors.Is(err, errSilent) || r != (store.Record{}) {
		t.Errorf("vetoed, and the namespace is not read: %+v, %v", r, err)
	}
	g.st.onGet = nil
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
		g.st.onSwap = nil
		g.rename(func(ns *Namespace) { ns.State, ns.Generation = Changing, ns.Generation+1 })
		return do(ws)
	}
	tests.Says(t, errOf(Namespaces(g.st).Veto(t.Context(), "n", 40, "broken")), "is being changed", "a veto meanwhile")
}

// A store that was moved is confirmed once, in its namespace.
func TestConfirmStoreOnce(t *testing.T) {
	g := holding(t)
	g.st.swaps = 0
	if _, err := Namespaces(g.st).Confirm(t.Context(), "n"); err != nil || g.st.swaps != 0 {
		t.Errorf("%d writes where there is nothing to do, %v", g.st.swaps, err)
	}
	g.st.id = "two"
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
		g.st.onSwap = nil
		g.rename(func(ns *Namespace) { ns.MaxTTL++ })
		return do(ws)
	}
	if ns, err := Namespaces(g.st).Confirm(t.Context(), "n"); err != nil || ns.Identity != "two" ||
		g.namespace().Identity != "two" {
		t.Errorf("%+v, %v", ns, err)
	}
	g.st.id = "three"
	g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
	wantErr(t, errOf(Namespaces(g.st).Confirm(t.Context(), "n")), errSilent, "not written")
	g.st.onGet, g.st.onSwap = func([]store.Key) error { return errSilent }, nil
	if _, err := Namespaces(g.st).Confirm(t.Context(), "n"); !errors.Is(err, errSilent) ||
		g.namespace().Identity != "two" {
		t.Errorf("a store that does not answer: %v", err)
	}
	g.st.onGet = nil
	wantErr(t, errOf(Namespaces(g.st).Confirm(t.Context(), "other")), fault.ErrNoNamespace, "no namespace")
}

// All leases are listed, and an error is no list.
func TestListLeases(t *testing.T) {
	g := holding(t)
	if rs, err := Namespaces(g.st).Leases(t.Context(), "n"); err != nil || len(rs) != 1 || rs[0] != g.record(5) {
		t.Errorf("%+v, %v", rs, err)
	}
	g.st.listErr = errSilent
	if rs, err := Namespaces(g.st).Leases(t.Context(), "n"); !errors.Is(err, errSilent) || rs != nil {
		t.Errorf("not listed: %+v, %v", rs, err)
	}
}
