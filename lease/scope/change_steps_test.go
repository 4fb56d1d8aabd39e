package scope

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// scheme returns the scheme of a layout.
func (g *stage) scheme(spec string) *snowfence.Scheme {
	g.Helper()
	l, err := snowfence.ParseLayout(spec)
	g.must(err)
	s, err := snowfence.NewScheme(l)
	g.must(err)
	return s
}

// apply changes the namespace of the stage.
func (g *stage) apply(c change) (Namespace, error) {
	g.Helper()
	return c.apply(g.Context(), g.st, "n")
}

// nodes is a change of those that can be leased.
func nodes(from, until int64) change {
	return change{NamespaceOptions: NamespaceOptions{Nodes: snowfence.NodeRange{From: from, Until: until}}}
}

const wider = "time=42,node=10,seq=12,epoch=2024-01-01"

// A change needs a store, a name and something to change.
func TestChangeOfNothing(t *testing.T) {
	g := holding(t)
	some := &NamespaceOptions{Nodes: snowfence.NodeRange{Until: 5}}
	fails(t, errOf(Namespaces(nil).Change(t.Context(), "n", nil, some)), "without a store")
	if _, err := Namespaces(g.st).Change(t.Context(), "a name with spaces", nil, some); !errors.Is(err,
		fault.ErrInvalid) {
		t.Errorf("without a name: %v", err)
	}
	wantErr(t, errOf(Namespaces(g.st).Change(t.Context(), "n", nil, nil)), fault.ErrInvalid, "of nothing")
	g.st.swaps = 0
	if _, err := Namespaces(g.st).Change(t.Context(), "n",
		nil, &NamespaceOptions{Nodes: snowfence.NodeRange{Until: 256}}); err != nil || g.st.swaps != 0 {
		t.Errorf("what is so already is written %d times: %v", g.st.swaps, err)
	}
	if ns, err := g.apply(nodes(1, 256)); err != nil ||
		ns.Nodes.From != 1 || g.namespace().Nodes != ns.Nodes {
		t.Errorf("another first node: %+v, %v", ns, err)
	}
	if ns, err := g.apply(nodes(1, 255)); err != nil ||
		ns.Nodes.Until != 255 || g.namespace().Nodes != ns.Nodes {
		t.Errorf("another last node: %+v, %v", ns, err)
	}
	before := g.namespace()
	if ns, err := g.apply(nodes(0, 257)); !errors.Is(err, fault.ErrInvalid) ||
		ns.Name != "" || g.namespace().record != before.record {
		t.Errorf("nodes that are not there: %+v, %v", ns, err)
	}
}

// A change that was interrupted is ended by the next change of the layout,
// also by one back to what it was, and by nothing else.
func TestChangeThatWasInterrupted(t *testing.T) {
	for name, c := range map[string]struct {
		change change
		ends   bool
	}{
		"nodes":              {nodes(0, 5), false},
		"the layout it had":  {change{holding(t).scheme(withRollback), NamespaceOptions{MaxTTL: time.Hour}}, true},
		"the layout to come": {change{holding(t).scheme(wider), NamespaceOptions{Force: true}}, true},
	} {
		g := holding(t)
		g.rename(func(ns *Namespace) { ns.State, ns.Generation = Changing, ns.Generation+1 })
		before := g.namespace()
		_, err := g.apply(c.change)
		ns := g.namespace()
		if (ns.MaxTTL == time.Hour) != (c.change.MaxTTL != 0) {
			t.Errorf("%s: the longest ttl is %v", name, ns.MaxTTL)
		}
		if (err == nil) != c.ends || (ns.State == Active) != c.ends || ns.Generation > before.Generation != c.ends {
			t.Errorf("%s: %+v, %v", name, ns, err)
		}
	}
}

// A change that meets another change of the namespace reads it again; any
// other error ends the change.
func TestChangeWithoutAnswers(t *testing.T) {
	few := nodes(0, 5)
	to := func(g *stage) change { return change{g.scheme(wider), NamespaceOptions{Force: true}} }
	for name, act := range map[string]func(g *stage) error{
		"nodes":  func(g *stage) error { _, err := g.apply(few); return err },
		"layout": func(g *stage) error { _, err := g.apply(to(g)); return err },
		"end":    func(g *stage) error { _, err := Namespaces(g.st).Delete(t.Context(), "n"); return err },
	} {
		g := holding(t)
		g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			g.st.onSwap = nil
			g.rename(func(ns *Namespace) { ns.MaxTTL++ })
			return do(ws)
		}
		wantErr(t, act(g), nil, "%s: written at the same time", name)
		g = holding(t)
		g.st.swaps = 0
		g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
		if err := act(g); !errors.Is(err, errSilent) || g.st.swaps != 1 {
			t.Errorf("%s: without an answer, after %d writes: %v", name, g.st.swaps, err)
		}
		// The last write of a change of layout, and of an end.
		g = holding(t)
		g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
			return do(ws)
		}
		if err := act(g); name != "nodes" && !errors.Is(err, errSilent) {
			t.Errorf("%s: without an answer at the end: %v", name, err)
		}
		g = holding(t)
		g.st.afterErr = errSilent
		if err := act(g); name == "layout" && (!errors.Is(err, errSilent) || g.namespace().State != Active) {
			t.Errorf("%s: without an identity: %v", name, err)
		}
		g = holding(t)
		g.st.onGet = func([]store.Key) error { return errSilent }
		wantErr(t, act(g), errSilent, "%s: without the namespace", name)
		g = holding(t)
		g.st.listErr = errSilent
		if err := act(g); name != "nodes" && !errors.Is(err, errSilent) {
			t.Errorf("%s: without the leases: %v", name, err)
		}
	}
}

// A change that turns out to be refused after it began leaves the namespace
// as it was; one that the store does not answer leaves it to be changed
// again.
func TestChangeThatIsRefusedHalfWay(t *testing.T) {
	for name, c := range map[string]struct {
		change change
		hurt   func(g *stage)
		want   error
		state  string
	}{
		"refused": {
			change{},
			func(g *stage) { g.change(5, func(r *store.Record) { r.Until = 1 << 41 }) },
			fault.ErrRefused, Active,
		},
		"invalid": {
			nodes(0, 1025),
			func(*stage) {},
			fault.ErrInvalid, Active,
		},
		"silent": {
			change{},
			func(g *stage) { g.st.afterErr = errSilent },
			errSilent, Changing,
		},
	} {
		g := holding(t)
		c.change.scheme = g.scheme("time=41,node=10,seq=12,epoch=2024-01-01")
		c.change.Force = true
		before := g.namespace()
		c.hurt(g)
		ns, err := c.change.relayout(g.Context(), g.st, "n", g.now)
		now := g.namespace()
		if !errors.Is(err, c.want) || now.State != c.state || !now.Layout.Equal(before.Layout) ||
			now.Generation <= before.Generation {
			t.Errorf("%s: %+v, and stored is %+v: %v", name, ns, now, err)
		}
	}
}

// A new layout starts at or after the end of all that was granted and made
// by hand, in its own ticks, and what is remembered of the old one ends
// there.
func TestStartOfAChangedLayout(t *testing.T) {
	const old, same = "time=41,node=4,seq=12,epoch=2025-01-01,tick=1ms",
		"time=42,node=4,seq=12,epoch=2025-01-01,tick=1ms"
	for name, c := range map[string]struct {
		to          string
		until       int64 // of a grant, from a second before now on
		hurt        func(g *stage, ns *Namespace)
		floor, from int64 // from now on, in milliseconds; and the first tick, in ms after now
		force       bool
		refused     bool
	}{
		"granted":                {to: same, until: 7, floor: 7, from: 7},
		"in longer ticks":        {to: "time=41,node=4,seq=12,epoch=2025-01-01,tick=10ms", until: 7, floor: 7, from: 10, force: true},
		"at their beginning":     {to: "time=41,node=4,seq=12,epoch=2025-01-01,tick=10ms", until: 20, floor: 20, from: 20, force: true},
		"a floor above grants":   {to: same, until: 7, hurt: func(g *stage, ns *Namespace) { ns.Floor = g.tick(0) + 9 }, floor: 9, from: 9},
		"beside the past":        {to: same, until: 7, hurt: func(_ *stage, ns *Namespace) { ns.Backfill = 1 }, floor: 7, from: 7},
		"after the past":         {to: same, until: -5, hurt: func(_ *stage, ns *Namespace) { ns.Backfill = 1 }, floor: 1, from: 1},
		"by hand":                {to: same, until: 7, hurt: func(_ *stage, ns *Namespace) { ns.Nodes.Until = 10 }, floor: 7, from: 7},
		"by hand, later":         {to: same, until: -5, hurt: func(_ *stage, ns *Namespace) { ns.Nodes.Until = 10 }, floor: 1, from: 1},
		"by hand below, later":   {to: same, until: -5, hurt: func(_ *stage, ns *Namespace) { ns.Nodes.From = 3 }, floor: 1, from: 1},
		"of another store":       {to: same, until: 7, hurt: func(_ *stage, ns *Namespace) { ns.Identity = "x" }, floor: 45_003, from: 45_003},
		"and a longer ttl":       {to: same, until: 7, hurt: func(_ *stage, ns *Namespace) { ns.Identity, ns.MaxTTL = "x", 2*time.Minute }, floor: 150_003, from: 150_003},
		"granted further":        {to: same, until: 900_000, hurt: func(_ *stage, ns *Namespace) { ns.Identity = "x" }, floor: 900_000, from: 900_000},
		"of earlier generations": {to: same, until: 7, hurt: func(g *stage, ns *Namespace) { ns.Since, ns.Floor = 9, g.tick(0)+2 }, floor: 2, from: 2, force: true},
		"that is over":           {to: "time=24,node=4,seq=12,epoch=2025-12-31T23:59:50Z,tick=1ms", until: 16_767_217, refused: true},
		"with one tick left":     {to: "time=24,node=4,seq=12,epoch=2025-12-31T23:59:50Z,tick=1ms", until: 16_767_215, floor: 16_767_215, from: 16_767_215, force: true},
	} {
		g := empty(t, old)
		ns := g.namespace()
		if c.hurt != nil {
			c.hurt(g, &ns)
		}
		r := store.Record{
			Key: store.Key{Namespace: "n", Node: 3}, Nonce: "x", Generation: ns.Generation, From: g.tick(0) - 1000,
			Until: g.tick(0) + c.until,
		}
		must(store.Put(t.Context(), g.st.Memory, store.Write{New: r}))
		to := g.scheme(c.to)
		next, err := change{to, NamespaceOptions{Force: c.force || c.refused}}.next(g.Context(), g.st, ns, g.now)
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		past := next.History()[len(next.History())-1]
		if past.Until != g.tick(0)+c.floor ||
			to.Layout().TimeOf(next.Start).Sub(g.now) != time.Duration(c.from)*time.Millisecond ||
			next.Floor != next.Start || next.Since != ns.Generation+1 {
			t.Errorf("%s: the old one ends %d ms from now, and the new one starts %v from now: %+v",
				name, past.Until-g.tick(0), to.Layout().TimeOf(next.Start).Sub(g.now), next)
		}
	}
}

// A layout whose time begins later starts with its first tick.
func TestLayoutThatBeginsLater(t *testing.T) {
	g := empty(t, "time=41,node=4,seq=12,epoch=2025-01-01,tick=1ms")
	c := change{g.scheme("time=41,node=4,seq=12,epoch=2027-01-01,tick=1ms"), NamespaceOptions{Force: true}}
	if next, err := c.next(g.Context(), g.st, g.namespace(), g.now); err != nil || next.Start != 0 || next.Floor != 0 {
		t.Errorf("%+v, %v", next, err)
	}
}

// What cannot be read, remembered or said of numbers given by hand is no
// change.
func TestChangeThatIsNotPossible(t *testing.T) {
	for name, c := range map[string]struct {
		change change
		hurt   func(ns *Namespace)
	}{
		"too much": {change{}, func(ns *Namespace) {
			ns.Regions[0].Ended, ns.Regions[0].Until = true, 1
			ns.Regions = slices.Repeat(ns.Regions, maxRegions)
		}},
		"used for hours": {change{NamespaceOptions: NamespaceOptions{Unused: time.Now().AddDate(100, 0, 0)}}, func(ns *Namespace) { ns.Nodes.Until = 10 }},
		"no such nodes":  {nodes(0, 17), func(*Namespace) {}},
	} {
		g := empty(t, "time=41,node=4,seq=12,epoch=2025-01-01,tick=1ms")
		ns := g.namespace()
		c.hurt(&ns)
		c.change.scheme, c.change.Force = g.scheme("time=42,node=4,seq=12,epoch=2025-01-01,tick=1ms"), true
		if next, err := c.change.next(g.Context(), g.st, ns, g.now); err == nil || next.Name != "" {
			t.Errorf("%s: %+v, %v", name, next, err)
		}
	}
}

// A change goes by the clock that agreed with the store last, also if it
// stepped while the store answered.
func TestChangeByAClockThatSteps(t *testing.T) {
	for name, c := range map[string]struct {
		change change
		reads  int
		after  func(ns Namespace) time.Time // what it must be after
	}{
		"limits": {
			change{NamespaceOptions: NamespaceOptions{MaxTTL: time.Second}},
			1,
			func(ns Namespace) time.Time { return time.UnixMilli(ns.before.Ends).Add(1 - 45*time.Second) },
		},
		"layout": {
			change{scheme: holding(t).scheme(wider)},
			4,
			func(ns Namespace) time.Time { return ns.Layout.TimeOf(ns.Floor) },
		},
	} {
		for read := range c.reads {
			g := holding(t)
			g.rename(func(ns *Namespace) { ns.Nodes.Until = 10 })
			g.st.gets = 0
			g.st.onGet = func([]store.Key) error {
				if g.st.gets == read+1 {
					g.now = g.now.Add(time.Hour)
				}
				return nil
			}
			ns, err := g.apply(c.change)
			if g.must(err); !c.after(ns).After(g.now) || g.st.gets != c.reads {
				t.Errorf("%s: a step at read %d of %d: %+v", name, read+1, g.st.gets, ns)
			}
		}
	}
}

// The clock of the store is compared once more when the floors are known.
func TestChangeByAClockThatIsWrongLater(t *testing.T) {
	g := holding(t)
	g.st.gets = 0
	g.st.onGet = func([]store.Key) error {
		if g.st.gets == 4 {
			g.st.now = g.now.Add(time.Hour)
		}
		return nil
	}
	wantErr(t, errOf(g.apply(change{scheme: g.scheme(wider)})), fault.ErrSkew, "at the last read")
}

// A store that hides a part of its identity changes no layout and no unit,
// also if it hides that half-way.
func TestChangeOfAStoreThatHides(t *testing.T) {
	for name, c := range map[string]change{
		"layout": {scheme: holding(t).scheme(wider)},
		"unit":   {NamespaceOptions: NamespaceOptions{Unit: 4}},
	} {
		for read := range 4 {
			g := holding(t)
			g.st.id = "a:b"
			g.rename(func(ns *Namespace) { ns.Identity = g.st.id })
			g.st.gets = 0
			g.st.onGet = func([]store.Key) error {
				if g.st.gets > read {
					g.st.id = "a:" + store.Closed
				}
				return nil
			}
			wantErr(t, errOf(g.apply(c)), fault.ErrRefused, "%s, from read %d on", name, read+1)
			if ns := g.namespace(); ns.Identity != "a:b" || ns.State != Active || ns.Unit != 1 {
				t.Errorf("%s, from read %d on: %+v", name, read+1, ns)
			}
		}
	}
}

// Another key is another layout, for which there is no proof: only who says
// that no ID was kept takes it.
func TestChangeOfTheKeyAlone(t *testing.T) {
	l := must(snowfence.ParseLayout("randflake"))
	key := snowfence.GenerateSecret()
	g := empty(t, "randflake", snowfence.GenerateSecret())
	s, err := snowfence.NewScheme(l, key)
	g.must(err)
	tests.Refuses(t, tests.ErrOf(g.apply(change{scheme: s})), fault.ErrRefused, "another secret")
	if ns, err := g.apply(change{s, NamespaceOptions{Force: true}}); err != nil || ns.Fingerprint != s.Fingerprint() {
		t.Errorf("%+v, %v", ns, err)
	}
}

// Each state of a namespace has a generation of its own, and a deleted one
// stays as it is.
func TestDeletedNamespaceStaysDeleted(t *testing.T) {
	g := holding(t)
	before := g.namespace()
	ns, err := Namespaces(g.st).Delete(t.Context(), "n")
	if err != nil || ns.State != Deleted || ns.Generation != before.Generation+2 {
		t.Errorf("%+v became %+v, %v", before, ns, err)
	}
	stored := g.record(store.NamespaceNode)
	if _, err := Namespaces(g.st).Delete(t.Context(), "n"); !errors.Is(err, fault.ErrNoNamespace) ||
		g.record(store.NamespaceNode) != stored {
		t.Errorf("deleted again: %v", err)
	}
}
