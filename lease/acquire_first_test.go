package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// If others are faster, an acquisition is repeated twenty-one times, and no more.
func TestFirstRepeatsWhatWasLost(t *testing.T) {
	for lost, ok := range map[int]bool{0: true, 1: true, 21: true, 22: false} {
		synctest.Test(t, func(t *testing.T) {
			g := empty(t, withRollback)
			left := lost
			g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
				if left--; left >= 0 && ws[0].New.Node == 5 {
					g.change(5, func(r *store.Record) { r.Revision++ }) // another process was faster
				}
				return do(ws)
			}
			g.st.swaps = 0
			err := g.do(firstGrant(t.Context(), g.c.setup, g.c))
			if (err == nil) != ok || !ok && !errors.Is(err, store.ErrLost) || g.st.swaps != min(lost+1, 22) {
				t.Errorf("lost %d times: %d writes, %v", lost, g.st.swaps, err)
			}
		})
	}
}

// If a change of the namespace ends the grant at once, another attempt follows.
func TestFirstRepeatsWhatWasTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := empty(t, withRollback)
		g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			errs := do(ws)
			if ws[0].New.Node == 5 {
				g.st.onSwap = nil
				g.rename(func(ns *Namespace) { ns.Generation++ })
			}
			return errs
		}
		if err := g.do(firstGrant(t.Context(), g.c.setup, g.c)); err != nil || g.l.use.cur == nil {
			t.Error(err)
		}
	})
}

// Any other error ends Open. It gives back what it may
// have left in the store, unless its context has ended.
func TestFirstGivesBackWhatItLeaves(t *testing.T) {
	for name, over := range map[string]bool{"an error": false, "an error after the end of the context": true} {
		g := empty(t, withRollback)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		gets := 0
		g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
			do(ws)
			if ws[0].New.Node != 5 {
				return make([]error, len(ws))
			}
			g.st.onSwap, gets = nil, g.st.gets
			if over {
				cancel()
			}
			return silent(len(ws))
		}
		err := g.do(firstGrant(ctx, g.c.setup, g.c))
		if !errors.Is(err, errSilent) || errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if r := g.record(5); r.Nonce == "" || (r.Holder == "") == over || (g.st.gets == gets) != over {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// waiting returns a stage whose lease waits for node 5,
// which another one holds. It also returns when the lease
// looks for a node. It calls before ahead of each look.
func waiting(t *testing.T, before func(g *stage, look int) error) (*stage, *[]time.Duration) {
	g := empty(t, withRollback)
	g.l.opts.Wait, g.l.opts.Node = true, nil
	g.rename(func(ns *Namespace) { ns.Nodes.From, ns.Nodes.Until = 5, 6 })
	g.change(5, func(r *store.Record) { r.Holder, r.Generation, r.Until = "other.1", 1, g.tick(10*time.Second) })
	looks, begin := new([]time.Duration), time.Now()
	g.st.onGet = func(keys []store.Key) error {
		if keys[0].Node == store.NamespaceNode && g.l.use.cur == nil && g.c.held == nil {
			*looks = append(*looks, time.Since(begin))
			return before(g, len(*looks))
		}
		return nil
	}
	return g, looks
}

// Open with Wait tries again when the next node frees, if that is
// known to be soon. Otherwise it tries about every two seconds.
func TestFirstWaitsForANode(t *testing.T) {
	const soon = 700 * time.Millisecond
	fixed := int64(5)
	for name, c := range map[string]struct {
		hurt     func(g *stage, r *store.Record)
		from, to time.Duration // of a pause
	}{
		"held":   {func(*stage, *store.Record) {}, 2 * time.Second, 2500 * time.Millisecond},
		"vetoed": {func(_ *stage, r *store.Record) { r.Veto = "broken" }, 2 * time.Second, 2500 * time.Millisecond},
		"free soon": {
			func(g *stage, r *store.Record) { r.Until = g.tick(soon) }, soon + 5*time.Millisecond,
			soon + 10*time.Millisecond,
		},
		"held, fixed": {func(g *stage, r *store.Record) {
			g.l.opts.Node, g.l.opts.Guard, r.Until = &fixed, true, g.tick(soon)
		}, soon + 5*time.Millisecond, soon + 10*time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, looks := waiting(t, func(g *stage, look int) error {
				if look == 4 {
					g.change(5, func(r *store.Record) { r.Holder, r.Veto, r.Until = "", "", g.tick(-time.Hour) })
				}
				return nil
			})
			g.change(5, func(r *store.Record) { c.hurt(g, r) })
			if err := g.do(firstGrant(t.Context(), g.c.setup, g.c)); err != nil || len(*looks) != 4 ||
				g.l.use.cur == nil {
				t.Fatalf("%s: looked at %v: %v", name, *looks, err)
			}
			for i, at := range (*looks)[1:] {
				if pause := at - (*looks)[i]; pause < c.from || pause > c.to {
					t.Errorf("%s: a pause of %v, not %v to %v", name, pause, c.from, c.to)
				}
			}
		})
	}
}

// The end of its context ends a wait at once. The error says
// why it waited, not that the store was not asked to the end.
func TestFirstWaitsUntilTheEndOfItsContext(t *testing.T) {
	for name, c := range map[string]struct {
		look   int  // at which the store does not answer
		cancel bool // the context ends just before
		taken  bool // that is what is said
	}{
		"looks again, and it ends":      {2, true, true},
		"looks again, and it does not":  {2, false, false},
		"looks for the first time":      {1, true, false},
		"waits, and is not interrupted": {9, false, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			began := time.Now()
			g, looks := waiting(t, func(_ *stage, look int) error {
				if look < c.look {
					return nil
				}
				if c.cancel {
					cancel()
				}
				return errSilent
			})
			err := g.do(firstGrant(ctx, g.c.setup, g.c))
			if errors.As(err, new(*TakenError)) != c.taken || errors.Is(err, errSilent) == c.taken ||
				c.taken && !errors.Is(err, ctx.Err()) {
				t.Errorf("%s: %v", name, err)
			}
			if c.look == 9 && (len(*looks) != 2 || time.Since(began) != 3*time.Second) {
				t.Errorf("%s: looked at %v, and went on for %v", name, *looks, time.Since(began))
			}
		})
	}
	g := empty(t, withRollback)
	ctx, cancel := context.WithCancel(t.Context())
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
		g.change(5, func(r *store.Record) { r.Revision++ })
		cancel()
		return do(ws)
	}
	err := g.do(firstGrant(ctx, g.c.setup, g.c))
	if !errors.Is(err, store.ErrLost) || !errors.Is(err, context.Canceled) || g.st.swaps != 1 {
		t.Errorf("others were faster, and it ends: %d writes, %v", g.st.swaps, err)
	}
}

// takenAs reports whether an error is of a node that was asked for, or of all nodes.
func takenAs(err error, fixed bool) bool {
	var e *TakenError
	return errors.As(err, &e) && errors.Is(err, ErrTaken) && e.Fixed == fixed &&
		(!fixed || e.Nodes.Until == e.Nodes.From+1)
}
