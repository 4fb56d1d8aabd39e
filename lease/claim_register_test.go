package lease

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/clock"
	"github.com/snowfence/snowfence/lease/store"
)

func (g *stage) namespace() Namespace {
	g.Helper()
	ns, err := readNamespace(g.Context(), g.st.Memory, "n")
	g.must(err)
	return ns
}

func never(Namespace, string) bool { return false }

// A block must fit among the leasable nodes, unless a fixed one is asked for.
func TestBlocksFitAmongLeasableNodes(t *testing.T) {
	for _, c := range []struct {
		first, last int64
		fixed, ok   bool
	}{{0, 7, false, true}, {0, 6, false, false}, {4, 8, false, false}, {0, 6, true, true}} {
		g := empty(t, withRollback)
		g.rename(func(ns *Namespace) { ns.Nodes = snowfence.NodeRange{From: c.first, Until: c.last + 1} })
		g.l.opts.Nodes = 8
		if !c.fixed {
			g.l.opts.Node = nil
		}
		if _, err := g.c.usable(t.Context()); (err == nil) != c.ok || !c.ok && !errors.Is(err, ErrInvalid) {
			t.Errorf("a block of 8 of the nodes %d to %d, fixed %t: %v", c.first, c.last, c.fixed, err)
		}
	}
}

// A lease adds its keys to a namespace, and changes nothing else.
func TestLeaseAddsItsKeys(t *testing.T) {
	one, two := snowfence.GenerateSecret(), snowfence.GenerateSecret()
	g := empty(t, "key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1", one)
	g.rename(func(ns *Namespace) { ns.MaxTTL = time.Hour })
	scheme, err := snowfence.NewScheme(g.l.scheme.Layout(), one, two)
	g.must(err)
	g.l.scheme = scheme
	ns, err := g.c.usable(t.Context())
	g.must(err)
	if ns.MaxTTL != time.Hour || len(ns.Keys) != 2 {
		t.Errorf("%+v", ns)
	}
}

// If the store is another one, the namespace first
// gets a floor above all grants of the earlier store.
func TestOtherStoreRaisesTheFloorFirst(t *testing.T) {
	g := empty(t, withRollback)
	g.st.id = "two"
	g.rename(func(ns *Namespace) { ns.MaxTTL = time.Hour })
	ns, err := g.c.usable(t.Context())
	g.must(err)
	want := g.l.ticks.layout.TickOf(g.now.Add(time.Hour+30*time.Second)) + 3
	if ns.Identity != "two" || ns.Floor != want || ns.Generation != 2 || ns.MaxTTL != time.Hour {
		t.Errorf("the floor must be %d: %+v", want, ns)
	}
}

// A raised floor is never lower than it was.
func TestRaisedFloorIsNotLowered(t *testing.T) {
	g := empty(t, withRollback)
	far := g.l.ticks.layout.TickOf(g.now.Add(1000 * time.Hour))
	g.rename(func(ns *Namespace) { ns.Floor = far })
	g.must(g.c.raiseFloor(t.Context(), never))
	if ns := g.namespace(); ns.Floor != far || ns.Generation != 2 {
		t.Errorf("the floor was %d: %+v", far, ns)
	}
}

// If the store does not answer, that is an
// error, and nothing is written on a guess.
func TestRegisterWithoutAnswers(t *testing.T) {
	once := func(g *stage) func([]store.Key) error {
		return func([]store.Key) error { g.st.onGet = nil; return errSilent }
	}
	for name, c := range map[string]struct {
		hurt func(g *stage)
		want error
	}{
		"identity":          {func(g *stage) { g.st.idErr = errSilent }, errSilent},
		"read":              {func(g *stage) { g.st.onGet = once(g) }, errSilent},
		"read, with create": {func(g *stage) { g.st.onGet, g.l.opts.Create = once(g), true }, errSilent},
		"write": {func(g *stage) {
			g.st.id = "two"
			g.st.onSwap = func(ws []store.Write,
				_ func([]store.Write) []error,
			) []error {
				g.st.onSwap = nil
				return silent(len(ws))
			}
		}, errSilent},
		"time":           {func(g *stage) { g.st.id, g.st.clockErr = "two", errSilent }, errSilent},
		"clock ahead":    {func(g *stage) { g.st.id, g.st.clock = "two", g.now.Add(-time.Hour) }, ErrSkew},
		"clock behind":   {func(g *stage) { g.st.id, g.st.clock = "two", g.now.Add(time.Hour) }, ErrSkew},
		"being changed":  {func(g *stage) { g.rename(func(ns *Namespace) { ns.State = Changing }) }, nil},
		"gone":           {func(g *stage) { g.l.name = "m" }, ErrNoNamespace},
		"deleted":        {func(g *stage) { g.rename(func(ns *Namespace) { ns.State = Deleted }); g.l.opts.Create = true }, ErrNoNamespace},
		"another layout": {func(g *stage) { g.rename(func(ns *Namespace) { ns.Fingerprint = "x" }) }, nil},
	} {
		for what, do := range map[string]func(g *stage) error{
			"raiseFloor": func(g *stage) error { return g.c.raiseFloor(t.Context(), never) },
			"usable":     func(g *stage) error { _, err := g.c.usable(t.Context()); return err },
		} {
			g := empty(t, withRollback)
			c.hurt(g)
			before := g.namespace()
			err := do(g)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%s: %s: %v", what, name, err)
			}
			if ns := g.namespace(); ns.record != before.record {
				t.Errorf("%s: %s: %+v became %+v", what, name, before, ns)
			}
			if rs, _ := g.st.Memory.Get(t.Context(), []store.Key{{
				Namespace: "m",
				Node:      store.NamespaceNode,
			}}); rs[0].Nonce != "" {
				t.Errorf("%s: %s: a namespace was made", what, name)
			}
		}
	}
	// The write of what a lease adds.
	one := snowfence.GenerateSecret()
	g := empty(t, "key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1", one)
	scheme, err := snowfence.NewScheme(g.l.scheme.Layout(), one, snowfence.GenerateSecret())
	g.must(err)
	g.l.scheme = scheme
	g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error {
		g.st.onSwap = nil
		return silent(len(ws))
	}
	if _, err := g.c.usable(t.Context()); !errors.Is(err, errSilent) {
		t.Errorf("a key that was perhaps not written: %v", err)
	}
}

// A clock may be off by as much as is allowed, in either
// direction, and no more. The error says in which.
func TestClockOffByMoreThanAllowed(t *testing.T) {
	g := empty(t, withRollback)
	for word, sign := range map[string]time.Duration{"ahead of": -1, "behind": 1} {
		g.st.clock = g.now.Add(sign * g.l.opts.MaxSkew)
		if _, err := g.c.clock(t.Context()); err != nil {
			t.Errorf("a clock that is %s the store's by no more than allowed: %v", word, err)
		}
		g.st.clock = g.st.clock.Add(sign)
		if _, err := g.c.clock(t.Context()); !errors.Is(err, ErrSkew) || !strings.Contains(err.Error(), word) {
			t.Errorf("a clock that is %s the store's: %v", word, err)
		}
	}
	g.st.clock = time.Time{}
	last := g.now
	read := func() time.Time { last = last.Add(1); return last }
	if now, err := checkedClock(t.Context(), g.st, read, time.Second); err != nil || now != last {
		t.Errorf("beside a store without a clock: %v, not %v, %v", now, last, err)
	}
}

// A lease with another key than the namespace's gets nothing.
func TestKeysOfALease(t *testing.T) {
	g := empty(t, "key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1", snowfence.GenerateSecret())
	scheme, err := snowfence.NewScheme(g.l.scheme.Layout(), snowfence.GenerateSecret())
	g.must(err)
	g.l.scheme = scheme
	before := g.namespace()
	if _, err := g.c.usable(t.Context()); !errors.Is(err, snowfence.ErrKey) {
		t.Error(err)
	}
	if ns := g.namespace(); ns.record != before.record {
		t.Errorf("%+v became %+v", before, ns)
	}
}

// The raised floor lies above what this lease may have written. Its generation
// tells all who saw the same rollback. The log says so once it is written.
func TestFloorIsRaisedOnceForAll(t *testing.T) {
	for _, c := range []struct{ now, saw, then int64 }{{1, 7, 8}, {5, 1, 6}, {4, 4, 5}} {
		g := empty(t, withRollback)
		var log strings.Builder
		g.l.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		g.rename(func(ns *Namespace) { ns.Generation = c.now })
		g.c.suspect = &c.saw
		g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error {
			g.st.onSwap = nil
			return silent(len(ws))
		}
		if err := g.c.raiseFloor(t.Context(), never); !errors.Is(err, errSilent) ||
			strings.Contains(log.String(), "floor raised") {
			t.Errorf("without an answer: %v, %s", err, log.String())
		}
		g.must(g.c.raiseFloor(t.Context(), never))
		floor := g.l.ticks.layout.TickOf(g.now.Add(45*time.Second)) + 3
		if ns := g.namespace(); ns.Generation != c.then || ns.Floor != floor {
			t.Errorf("%+v, and a floor of %d: %+v", c, floor, ns)
		}
		if !strings.Contains(log.String(), "floor raised") {
			t.Errorf("the log does not say that the floor was raised: %s", log.String())
		}
	}
}

// A clock that stepped back while the store was asked
// is off, although it is as far ahead as behind.
func TestClockStepsBackWhileAsked(t *testing.T) {
	g := empty(t, withRollback)
	g.st.clock = g.now
	read, jump := g.now, time.Duration(0)
	g.l.opts.clock = clock.Steady(func() (time.Time, time.Duration) {
		defer func() { read = read.Add(-2 * jump) }()
		return read, 0
	}, true)
	jump = time.Hour
	read = read.Add(jump)
	if _, err := g.c.clock(t.Context()); !errors.Is(err, ErrSkew) || !strings.Contains(err.Error(), "ahead of") {
		t.Error(err)
	}
}
