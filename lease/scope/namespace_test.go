package scope

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// create makes the namespace of the stage again, with nodes if any are
// given.
func (g *stage) create(nodes ...snowfence.NodeRange) (Namespace, error) {
	g.Helper()
	var o *NamespaceOptions
	for _, r := range nodes {
		o = &NamespaceOptions{Nodes: r}
	}
	return Namespaces(g.st).Create(g.Context(), "n", g.s, o)
}

// A new namespace is in its first generation. It has all
// nodes or the named ones, and the identity of its store.
func TestNewNamespace(t *testing.T) {
	for name, c := range map[string]struct {
		nodes       []snowfence.NodeRange
		first, last int64
	}{
		"all":     {nil, 0, 255},
		"no node": {[]snowfence.NodeRange{{}}, 0, 255},
		"some":    {[]snowfence.NodeRange{{From: 3, Until: 9}}, 3, 8},
	} {
		g := empty(t, withRollback)
		g.st.Memory = store.NewMemory()
		made, err := g.create(c.nodes...)
		ns := g.namespace()
		if err != nil || made.record != ns.record || ns.Floor != 0 ||
			ns.Nodes != (snowfence.NodeRange{From: c.first, Until: c.last + 1}) {
			t.Errorf("%s: %+v, %v", name, ns, err)
		}
		if ns.Generation != 1 || ns.Since != 1 || ns.State != Active || ns.Identity != "one" || len(ns.Regions) != 1 ||
			ns.ticketKey == "" || ns.record.Revision != 1 {
			t.Errorf("%s: %+v", name, ns)
		}
	}
}

// What exists already stays as it is, and is not written.
func TestNamespaceThatExists(t *testing.T) {
	for name, c := range map[string]struct {
		nodes []snowfence.NodeRange
		hurt  func(ns *Namespace)
		want  error
	}{
		"the same":           {nil, func(*Namespace) {}, nil},
		"the same nodes":     {[]snowfence.NodeRange{{Until: 256}}, func(*Namespace) {}, nil},
		"another first node": {[]snowfence.NodeRange{{From: 1, Until: 256}}, func(*Namespace) {}, fault.ErrExists},
		"another last node":  {[]snowfence.NodeRange{{Until: 255}}, func(*Namespace) {}, fault.ErrExists},
		"no such node":       {[]snowfence.NodeRange{{Until: 257}}, func(*Namespace) {}, fault.ErrInvalid},
		"another scheme":     {nil, func(ns *Namespace) { ns.Fingerprint = "x" }, fault.ErrMismatch},
		"deleted, another": {
			nil, func(ns *Namespace) { ns.Fingerprint, ns.State = "x", Deleted }, fault.ErrMismatch,
		},
	} {
		g := empty(t, withRollback)
		g.rename(c.hurt)
		before := g.namespace()
		g.st.id, g.st.swaps = "two", 0
		ns, err := g.create(c.nodes...)
		if !errors.Is(err, c.want) || g.st.swaps != 0 {
			t.Errorf("%s: %d writes, %v", name, g.st.swaps, err)
		}
		if err == nil && ns.record != before.record || err != nil && ns.Name != "" {
			t.Errorf("%s: %+v", name, ns)
		}
	}
	g := empty(t, withRollback)
	g.rename(func(ns *Namespace) { ns.State = Changing })
	if ns, err := g.create(); err == nil || ns.Name != "" || errors.Is(err, fault.ErrNoNamespace) ||
		g.namespace().State != Changing {
		t.Errorf("being changed: %+v, %v", ns, err)
	}
}

// A deleted namespace comes back with its floor, its store's identity, and
// its nodes or the named ones. Nodes that it could not lease count as used
// until now.
func TestDeletedNamespaceComesBack(t *testing.T) {
	for name, c := range map[string]struct {
		nodes       []snowfence.NodeRange
		first, last int64
		raised      bool
	}{
		"as it was":  {nil, 3, 8, false},
		"other ones": {[]snowfence.NodeRange{{From: 4, Until: 7}}, 4, 6, false},
		"more":       {[]snowfence.NodeRange{{From: 2, Until: 9}}, 2, 8, true},
	} {
		g := empty(t, withRollback)
		g.rename(func(ns *Namespace) {
			ns.Floor, ns.State, ns.Generation = 77, Deleted, 5
			ns.Nodes = snowfence.NodeRange{From: 3, Until: 9}
		})
		g.st.id = "two"
		_, err := g.create(c.nodes...)
		ns := g.namespace()
		if err != nil || ns.State != Active || ns.Generation != 6 ||
			ns.Nodes != (snowfence.NodeRange{From: c.first, Until: c.last + 1}) ||
			(ns.Floor > 77) != c.raised || ns.Floor < 77 {
			t.Errorf("%s: %+v, %v", name, ns, err)
		}
		if ns.Identity != "one" || ns.record.Revision != 3 {
			t.Errorf("%s: %+v", name, ns)
		}
	}
}

// at is a world whose time stands still.
type at struct {
	world.World
	now time.Time
}

func (w at) Now() time.Time { return w.now }

// A namespace is made in the last tick of its layout, and not after it.
func TestNamespaceInTheLastTick(t *testing.T) {
	for later, ok := range map[int64]bool{0: true, 1: false} {
		g := empty(t, "time=41,rollback=2,node=8,seq=12,epoch=2025-01-01,tick=1ms")
		g.st.Memory = store.NewMemory()
		s := g.s
		ctx := world.With(t.Context(), at{world.Real(), s.Layout().TimeOf(s.MaxTick() + later)})
		if _, err := Namespaces(g.st).Create(ctx, "n", s, nil); (err == nil) != ok ||
			!ok && !errors.Is(err, snowfence.ErrLifetime) {
			t.Errorf("%d ticks after the last one: %v", later, err)
		}
	}
}

// If the store does not answer, that is an error.
// If others wrote at the same time, it reads again.
func TestNamespaceWithoutAnswers(t *testing.T) {
	one, two := snowfence.GenerateSecret(), snowfence.GenerateSecret()
	const keyed = "key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1"
	for name, ready := range map[string]func() *stage{
		"new": func() *stage {
			g := empty(t, keyed, one)
			g.st.Memory = store.NewMemory()
			return g
		},
		"deleted": func() *stage {
			g := empty(t, keyed, one)
			g.rename(func(ns *Namespace) { ns.State = Deleted })
			return g
		},
		"another key": func() *stage {
			g := empty(t, keyed, one)
			s, err := snowfence.NewScheme(g.s.Layout(), one, two)
			g.must(err)
			g.s = s
			return g
		},
	} {
		g := ready()
		g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
		if ns, err := g.create(); !errors.Is(err, errSilent) || ns.Name != "" {
			t.Errorf("%s: not written: %+v, %v", name, ns, err)
		}
		g = ready()
		g.st.onGet = func([]store.Key) error { return errSilent }
		if ns, err := g.create(); !errors.Is(err, errSilent) || ns.Name != "" {
			t.Errorf("%s: not read: %+v, %v", name, ns, err)
		}
		g = ready()
		writes := 0
		g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			if writes++; writes == 1 {
				w := ws[0]
				w.New.Nonce = "other"
				do([]store.Write{w}) // the same, by another process
			}
			return do(ws)
		}
		generation := map[bool]int64{true: 2, false: 1}[name == "deleted"]
		if ns, err := g.create(); err != nil || writes != 1 || ns.record.Nonce != "other" || ns.State != Active ||
			ns.Generation != generation {
			t.Errorf("%s: written at the same time: %d writes, %+v, %v", name, writes, ns, err)
		}
	}
	g := empty(t, withRollback)
	g.st.Memory, g.st.swaps = store.NewMemory(), 0
	g.st.onGet = func([]store.Key) error { return errSilent }
	if ns, err := g.create(); !errors.Is(err, errSilent) || ns.Name != "" || g.st.swaps != 0 {
		t.Errorf("a store that does not answer: %d writes, %v", g.st.swaps, err)
	}
	g = empty(t, keyed, one)
	g.s = empty(t, keyed, two).s
	if ns, err := g.create(); err == nil || ns.Name != "" {
		t.Errorf("another first key: %v", err)
	}
}

// A namespace is for one scheme. It gives no
// grants during a change or after its deletion.
func TestUsableNamespaces(t *testing.T) {
	g := empty(t, withRollback)
	for name, c := range map[string]struct {
		state    string
		other    bool
		mismatch bool
		deleted  bool
		ok       bool
	}{
		"active":                  {Active, false, false, false, true},
		"another scheme":          {Active, true, true, false, false},
		"changing":                {Changing, false, false, false, false},
		"changing to another one": {Changing, true, false, false, false},
		"deleted":                 {Deleted, false, false, true, false},
		"another one, deleted":    {Deleted, true, false, true, false},
	} {
		ns := g.namespace()
		if ns.State = c.state; c.other {
			ns.Fingerprint = "x"
		}
		err := ns.Usable(g.s)
		if (err == nil) != c.ok || errors.Is(err, fault.ErrMismatch) != c.mismatch ||
			errors.Is(err, fault.ErrNoNamespace) != c.deleted || errors.Is(err, fault.ErrDeleted) != c.deleted {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// listing is a store that lists what it is told.
type listing struct {
	*scripted
	rs []store.Record
}

func (l listing) Heads(context.Context) ([]store.Record, store.Reply, error) {
	return l.rs, store.Reply{}, nil
}

// Namespaces are listed, and sequences beside them are not.
func TestListedNamespaces(t *testing.T) {
	g := holding(t)
	must(Namespaces(g.st).Create(t.Context(), "m", g.s, nil))
	m, err := Namespaces(g.st).Show(t.Context(), "m")
	g.must(err)
	sequence := store.Record{Key: store.Key{Namespace: "#n", Node: -2}, Nonce: "x"}
	must(store.Put(t.Context(), g.st.Memory, store.Write{New: sequence}))
	if all, err := Namespaces(g.st).List(t.Context()); err != nil || len(all) != 2 || all[0].Name != "m" ||
		all[1].Name != "n" {
		t.Errorf("%+v, %v", all, err)
	}
	bad := m.record
	bad.Data = "{"
	if all, err := Namespaces(listing{g.st, []store.Record{bad}}).List(t.Context()); err == nil || all != nil {
		t.Errorf("damaged: %+v", all)
	}
	g.st.listErr = errSilent
	if all, err := Namespaces(g.st).List(t.Context()); !errors.Is(err, errSilent) || all != nil {
		t.Errorf("not listed: %v", err)
	}
}

// Leases that share a group decode the record of their namespace once.
func TestNamespaceIsDecodedOnce(t *testing.T) {
	g := empty(t, withRollback)
	st := store.Group(g.st)
	r := g.record(store.NamespaceNode)
	_, err := store.Decoded(st, r, func(store.Record) (Namespace, error) { return Namespace{Name: "before"}, nil })
	g.must(err)
	if again, err := Namespaces(st).Show(t.Context(), "n"); err != nil || again.Name != "before" {
		t.Errorf("%+v, %v", again, err)
	}
}

// A namespace needs a store, a scheme, and a name of 1 to 64 letters,
// digits, '-', '_' and '.'.
func TestWhatANamespaceNeeds(t *testing.T) {
	g := empty(t, withRollback)
	if _, err := Namespaces(nil).Create(t.Context(), "n", g.s, nil); err == nil ||
		!strings.Contains(err.Error(), "Store") {
		t.Errorf("no store: %v", err)
	}
	if _, err := Namespaces(g.st).Create(t.Context(), "n", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "Scheme") {
		t.Errorf("no scheme: %v", err)
	}
	wantErr(t, errOf(Namespaces(g.st).Create(t.Context(), "a b", g.s, nil)), fault.ErrInvalid, "no name")
}
