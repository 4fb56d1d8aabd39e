package lease

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/claim"
	"github.com/snowfence/snowfence/lease/store"
)

// stopped is a stage whose lease holds node 5 and never had a keeper.
func stopped(t *testing.T) *stage {
	t.Helper()
	g := holding(t)
	close(g.l.done)
	return g
}

// handed takes the grant as a generator does.
func (g *stage) handed() snowfence.Grant {
	g.Helper()
	grant, err := g.l.Grant(over(g.T), 0) // it does not wait
	g.must(err)
	return grant
}

// Released is the present grant, or the one before if that could not be
// given back.
func TestReleaseOfThePresentGrant(t *testing.T) {
	for name, c := range map[string]struct {
		before  func(g *stage, is snowfence.Grant)
		other   func(*snowfence.Grant)
		back    bool
		dropped bool
	}{
		"the present one":            {back: true, dropped: true},
		"another node":               {other: func(g *snowfence.Grant) { g.Node++ }},
		"another begin":              {other: func(g *snowfence.Grant) { g.From++ }},
		"nothing held":               {before: func(g *stage, _ snowfence.Grant) { g.l.use.cur = nil }, dropped: true},
		"the one before":             {before: owing, back: true, dropped: true},
		"the one before, node":       {before: owing, other: func(g *snowfence.Grant) { g.Node++ }, dropped: true},
		"the one before, begin":      {before: owing, other: func(g *snowfence.Grant) { g.From++ }, dropped: true},
		"the one before of two":      {before: anotherNode, dropped: false},
		"the one before, same again": {before: anotherBegin, dropped: false},
	} {
		g := holding(t)
		grant := g.handed()
		if c.before != nil {
			c.before(g, grant)
		}
		if c.other != nil {
			c.other(&grant)
		}
		was := g.record(5)
		g.must(g.l.Release(t.Context(), grant, was.From+7))
		r := g.record(5)
		if c.back && (r.Holder != "" || r.Until != was.From+7) || !c.back && r != was {
			t.Errorf("%s: %+v became %+v", name, was, r)
		}
		if (g.l.use.cur == nil) != c.dropped {
			t.Errorf("%s: in use afterwards: %+v", name, g.l.use.cur)
		}
		if g.l.life.Err() != nil {
			t.Errorf("%s: the lease ended", name)
		}
	}
}

// owing lets a first release fail.
func owing(g *stage, is snowfence.Grant) {
	g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error {
		g.st.onSwap = nil
		return silent(len(ws))
	}
	err := g.l.Release(g.Context(), is, is.From+7)
	if !errors.Is(err, errSilent) ||
		!strings.Contains(err.Error(), "node 5 of namespace \"n\" stays taken until 2026-01-01T00:00:15Z") {
		g.Errorf("a release without an answer: %v", err)
	}
}

func anotherNode(g *stage, is snowfence.Grant)  { is.Node++; g.l.use.cur = &is }
func anotherBegin(g *stage, is snowfence.Grant) { is.From++; g.l.use.cur = &is }

// A lease of one generator ends with the release.
func TestReleaseOfTheOnlyGenerator(t *testing.T) {
	g := stopped(t)
	g.l.oneGenerator = true
	unpinned := 0
	g.l.unpin = func() { unpinned++ }
	g.must(g.l.Release(t.Context(), g.handed(), 0))
	if g.l.life.Err() == nil || unpinned != 1 {
		t.Errorf("the lease goes on; the store was let go of %d times", unpinned)
	}
}

// Two calls release one grant, and the second waits until there is another:
// that one stays.
func TestReleaseThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := stopped(t)
		grant := g.handed()
		<-g.l.ops // the first call
		for range 2 {
			go func() { g.must(g.l.Release(t.Context(), grant, grant.From+7)) }()
			synctest.Wait()
		}
		g.must(g.l.giveBackOwed(t.Context()))
		g.must(g.do(g.l.claim.Next(t.Context())))
		is := g.record(5)
		g.l.ops <- struct{}{}
		synctest.Wait()
		if r := g.record(5); r != is {
			t.Errorf("%+v became %+v", is, r)
		}
	})
}

// The operation that has the store keeps it: nothing is given back during
// it, nor before the keeper has stopped.
func TestGiveBackWaitsForTheStore(t *testing.T) {
	for name, c := range map[string]struct {
		busy, kept bool
		do         func(ctx context.Context, g *stage, is snowfence.Grant) error
	}{
		"Release":                {true, false, func(ctx context.Context, g *stage, is snowfence.Grant) error { return g.l.Release(ctx, is, 0) }},
		"Shutdown":               {true, false, func(ctx context.Context, g *stage, _ snowfence.Grant) error { return g.l.Shutdown(ctx) }},
		"Shutdown with a keeper": {false, true, func(ctx context.Context, g *stage, _ snowfence.Grant) error { return g.l.Shutdown(ctx) }},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := holding(t)
			if !c.kept {
				close(g.l.done)
			}
			unpinned := 0
			g.l.unpin = func() { unpinned++ }
			grant, was := g.handed(), g.record(5)
			if c.busy {
				<-g.l.ops
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			wantErr(t, c.do(ctx, g, grant), context.DeadlineExceeded, "%s", name)
			synctest.Wait()
			if r := g.record(5); r != was || unpinned != 0 {
				t.Errorf("%s: %+v became %+v; the store was let go of %d times", name, was, r, unpinned)
			}
			if c.busy != (len(g.l.ops) == 0) {
				t.Errorf("%s: the store was passed on", name)
			}
		})
	}
}

// The unused part is given back only where it is known which it is.
func TestUnusedPartOfAGrant(t *testing.T) {
	const used = 7
	for name, c := range map[string]struct {
		handed, sealed bool
		before         func(g *stage)
		until          func(r store.Record) int64
	}{
		"never handed out":        {false, false, nil, func(r store.Record) int64 { return r.From }},
		"handed out, never bound": {true, false, nil, func(r store.Record) int64 { return r.Until }},
		"bound":                   {true, true, nil, func(r store.Record) int64 { return r.From + used }},
		"lost, and bound":         {false, true, func(g *stage) { g.l.use.cur = nil }, func(r store.Record) int64 { return r.Until }},
		"lost":                    {false, false, func(g *stage) { g.l.use.cur = nil }, func(r store.Record) int64 { return r.Until }},
		"of another node": {true, false, func(g *stage) {
			g.l.use.owed = &claim.Owed{Node: 6, From: g.l.use.cur.From, Used: g.l.use.cur.From + 1}
		}, func(r store.Record) int64 { return r.Until }},
		"of another grant": {true, false, func(g *stage) {
			g.l.use.owed = &claim.Owed{Node: 5, From: g.l.use.cur.From - 1, Used: g.l.use.cur.From + 1}
		}, func(r store.Record) int64 { return r.Until }},
	} {
		g := stopped(t)
		was := g.record(5)
		if c.sealed {
			_, err := g.l.Bind(func() int64 {
				if g.l.use.cur != nil {
					t.Errorf("%s: sealed while the grant can be had again", name)
				}
				return was.From + used
			})
			g.must(err)
		}
		if c.handed {
			g.handed()
		}
		if c.before != nil {
			c.before(g)
		}
		g.must(g.l.Shutdown(t.Context()))
		if r := g.record(5); r.Holder != "" || r.Until != c.until(was) {
			t.Errorf("%s: %+v became %+v", name, was, r)
		}
		wantErr(t, errOf(g.l.Grant(over(t), 0)), ErrEnded, "%s: after the end", name)
	}
}

// A grant that has run out needs no giving back: the store is left alone.
func TestNothingToGiveBackAfterTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		before int64
		swaps  int
	}{"before": {10_000, 1}, "at the end": {0, 0}, "later": {-5, 0}} {
		g := stopped(t)
		g.st.swaps = 0
		g.now = g.l.setup.Ticks.Layout.TimeOf(g.l.setup.Kept().Until - c.before)
		g.must(g.l.Shutdown(t.Context()))
		if g.st.swaps != c.swaps {
			t.Errorf("%s: %d writes", name, g.st.swaps)
		}
	}
	g := stopped(t)
	g.must(g.l.Shutdown(t.Context()))
	gets := g.st.gets
	g.must(g.l.Shutdown(t.Context()))
	if g.st.gets != gets {
		t.Error("the store was asked again, after the node was back")
	}
}
