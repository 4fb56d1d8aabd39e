package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// A lease is attended when it is due. If a caller needs later
// ticks, it is attended as soon as a renewal can reach them.
func TestWhenALeaseIsAttended(t *testing.T) {
	const ms = time.Millisecond
	const ttl = 15 * time.Second
	for name, c := range map[string]struct {
		spec string
		set  func(l *Lease, now time.Time, target int64)
		want time.Duration
	}{
		"in time":               {"", func(*Lease, time.Time, int64) {}, 5 * time.Second},
		"no caller wants it":    {"", func(l *Lease, _ time.Time, _ int64) { l.demand.want = false }, time.Hour},
		"nearly idle":           {"", func(l *Lease, now time.Time, _ int64) { l.demand.used = now.Add(1 - time.Minute) }, 5 * time.Second},
		"idle":                  {"", func(l *Lease, now time.Time, _ int64) { l.demand.used = now.Add(-time.Minute) }, time.Hour},
		"nothing held":          {"", func(l *Lease, now time.Time, _ int64) { l.use.cur, l.pace.earliest = nil, now.Add(3*ms) }, 3 * ms},
		"the last tick is next": {"", func(l *Lease, _ time.Time, _ int64) { l.demand.need = l.use.cur.Until - 1 }, 5 * time.Second},
		"the grant is used up":  {"", func(l *Lease, _ time.Time, _ int64) { l.demand.need = l.use.cur.Until }, 1 * ms},
		"and further":           {"", func(l *Lease, _ time.Time, _ int64) { l.demand.need = l.use.cur.Until + 9 }, 10 * ms},
		"and further, but it failed lately": {
			"", func(l *Lease, now time.Time, _ int64) {
				l.demand.need, l.pace.earliest = l.use.cur.Until+9, now.Add(50*ms)
			}, 50 * ms,
		},
		"and as far as a renewal reaches": {
			"", func(l *Lease, _ time.Time, target int64) { l.use.cur.Until, l.demand.need = target-5, target-1 }, 0,
		},
		"and less far":  {"", func(l *Lease, _ time.Time, target int64) { l.use.cur.Until, l.demand.need = target-50, target-20 }, 0},
		"and far ahead": {"", func(l *Lease, _ time.Time, target int64) { l.demand.need = target + 100_000 }, 5 * time.Second},
		"but it failed lately": {
			"", func(l *Lease, now time.Time, target int64) {
				l.use.cur.Until, l.demand.need, l.pace.earliest = target-50, target-20, now.Add(7*ms)
			},
			7 * ms,
		},
		"a tick longer than the ttl": {
			"time=31,node=8,seq=12,tick=1m,epoch=2025-01-01", func(l *Lease, _ time.Time, target int64) { l.use.cur.Until, l.demand.need = target-1, target-1 }, 0,
		},
	} {
		spec := c.spec
		if spec == "" {
			spec = withRollback
		}
		g := empty(t, spec)
		p := g.pace()
		l := g.l
		l.idle, l.setup.TTL = time.Minute, ttl
		target := l.setup.Ticks.Target(g.now)
		l.use.cur = &snowfence.Grant{Node: 5, From: target - 100, Until: target}
		l.demand.used, l.pace.renewAt = p.now, p.now.Add(5*time.Second)
		c.set(l, p.now, target)
		if d := l.plan(); d != c.want {
			t.Errorf("%s: after %v, not %v", name, d, c.want)
		}
	}
}

// The keeper waits for as long as the plan says, and attends then, until
// its life ends.
func TestKeeper(t *testing.T) { synctest.Test(t, keeper) }

func keeper(t *testing.T) {
	g := holding(t)
	p := g.pace()
	g.l.demand.used, g.l.pace.renewAt = p.now, p.now.Add(5*time.Second)
	renewals := 0
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
		if renewals++; renewals == 3 {
			g.l.end(ErrEnded)
		}
		return do(ws)
	}
	g.l.keep()
	if renewals != 3 || len(p.waits) != 3 || p.waits[0] != 5*time.Second {
		t.Errorf("%d renewals, and waits of %v", renewals, p.waits)
	}
}

// What a lease does about an answer of the store, each time that it is
// attended.
func TestAttending(t *testing.T) { synctest.Test(t, attending) }

func attending(t *testing.T) {
	for name, c := range map[string]struct {
		before        func(g *stage)
		swaps, asked  int
		want          error
		ended, healed bool
	}{
		"all is well": {func(*stage) {}, 1, 1, nil, false, true},
		"no caller wants it": {func(g *stage) {
			g.l.demand.want = false
			g.st.onGet = func([]store.Key) error { t.Error("the store was asked"); return nil }
		}, 0, 0, nil, false, true},
		"no answer": {func(g *stage) {
			g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
		}, 1, 0, errSilent, false, true},
		"lost, and healed": {func(g *stage) {
			g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
				g.st.onSwap = nil
				g.change(5, func(r *store.Record) { r.Holder = "" })
				return do(ws)
			}
		}, 2, 2, nil, false, true},
		"lost twice": {func(g *stage) {
			g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
				if g.st.swaps == 1 {
					g.change(5, func(r *store.Record) { r.Holder = "" })
					return do(ws)
				}
				errs := do(ws)
				g.change(store.NamespaceNode, func(r *store.Record) { r.Generation++ })
				return errs
			}
		}, 2, 2, nil, false, false},
		"lost, since the store was replaced while it was read": {func(g *stage) {
			g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error { return silent(len(ws)) }
			_ = g.do(g.l.claim.Next(t.Context()))
			g.st.swaps, g.st.asked = 0, 0
			g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
				g.st.onSwap = nil
				g.change(5, func(r *store.Record) { r.Holder = "" })
				g.st.onGet = func([]store.Key) error { g.st.onGet = nil; return store.ErrReplaced }
				return do(ws)
			}
		}, 1, 0, store.ErrReplaced, true, false},
		"another layout": {func(g *stage) {
			g.must(g.l.claim.GiveBack(t.Context(), nil))
			g.l.use.cur, g.st.swaps = nil, 0
			g.change(store.NamespaceNode, func(r *store.Record) {
				r.Data = strings.Replace(r.Data, `"fingerprint":"`, `"fingerprint":"another`, 1)
			})
		}, 0, 1, ErrMismatch, true, false},
		"the give-back of the grant before fails": {func(g *stage) {
			g.l.use.spent = true
			g.st.onSwap = func(ws []store.Write,
				_ func([]store.Write) []error,
			) []error {
				g.st.onSwap = nil
				return silent(len(ws))
			}
		}, 1, 0, errSilent, false, false},
		"interrupted": {func(g *stage) {
			g.st.onSwap = func(ws []store.Write, _ func([]store.Write) []error) []error {
				g.l.stopOp()
				return silent(len(ws))
			}
		}, 1, 0, nil, false, true},
		"interrupted, and replaced": {func(g *stage) {
			g.st.onSwap = func(ws []store.Write,
				_ func([]store.Write) []error,
			) []error {
				g.l.stopOp()
				return []error{store.ErrReplaced}
			}
		}, 1, 0, store.ErrReplaced, true, false},
	} {
		g := holding(t)
		p := g.pace()
		g.st.swaps, g.st.asked = 0, 0
		g.now = g.now.Add(time.Second)
		c.before(g)
		limit := 5 * time.Second // until the next renewal is due
		if g.l.use.cur == nil {
			limit = 15 * time.Second
		}
		g.l.attend()
		wrong := !errors.Is(g.l.trouble, c.want)
		if name != "lost twice" && wrong || g.l.stopOp != nil || len(g.l.ops) != 1 {
			t.Errorf("%s: the trouble is %v, not %v", name, g.l.trouble, c.want)
		}
		if g.st.swaps != c.swaps || g.st.asked != c.asked {
			t.Errorf("%s: %d writes, and read the namespace %d times, not %d and %d",
				name, g.st.swaps, g.st.asked, c.swaps, c.asked)
		}
		if (g.l.life.Err() != nil) != c.ended || (g.l.use.cur != nil) != c.healed {
			t.Errorf("%s: ended %v, in use %+v", name, g.l.life.Err(), g.l.use.cur)
		}
		if len(p.limits) != 1 || p.limits[0] != limit {
			t.Errorf("%s: time limits of %v", name, p.limits)
		}
	}
	// A lessor, and a ttl that is too short to wait for a store.
	g := holding(t)
	p := g.pace()
	g.l.setup.TTL, g.l.pace.most = time.Hour, 7*time.Second
	g.l.attend()
	g.l.setup.TTL = 20 * time.Millisecond
	g.l.attend()
	if want := []time.Duration{7 * time.Second, time.Second}; !slices.Equal(p.limits, want) {
		t.Errorf("time limits of %v, not %v", p.limits, want)
	}
	// A success is one, though another call wanted the store.
	g = holding(t)
	p = g.pace()
	g.st.onNamespace = func() { g.l.stopOp() }
	g.l.trouble = errSilent
	g.l.attend()
	if g.l.trouble != nil || g.l.pace.renewed != p.now {
		t.Errorf("a renewal that was acknowledged left the trouble %v", g.l.trouble)
	}
	// An acquisition in doubt that was written is one.
	g = empty(t, withRollback)
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
		g.st.onSwap = nil
		do(ws)
		return silent(len(
			ws))
	}
	_ = g.do(g.l.claim.Next(t.Context()))
	p = g.pace()
	if g.l.attend(); g.l.use.cur == nil || p.limits[0] != 15*time.Second {
		t.Errorf("after an acquisition in doubt %+v is used; time limits of %v", g.l.use.cur, p.limits)
	}
	// The call that has the store when the life ends keeps it.
	g = holding(t)
	<-g.l.ops
	g.l.end(ErrEnded)
	g.l.attend()
	if len(g.l.ops) != 0 {
		t.Error("the store was passed on by one that did not have it")
	}
}

// What a lease notes after a success and after a failure.
func TestNotesOfALease(t *testing.T) {
	const ms = time.Millisecond
	grant := func(until int64) *snowfence.Grant { return &snowfence.Grant{Node: 5, Until: until} }
	for name, c := range map[string]struct {
		ttl         time.Duration
		cur, before *snowfence.Grant
		due         time.Duration // before the attempt began
		earliest    time.Duration
		took        time.Duration
	}{
		"renewed":                     {15 * time.Second, grant(2), grant(1), 3 * time.Second, 20 * ms, 4 * time.Second},
		"renewed early":               {15 * time.Second, grant(2), grant(1), -3 * time.Second, 20 * ms, time.Second},
		"a short ttl":                 {time.Second, grant(2), grant(1), 0, 10 * ms, time.Second},
		"acquired":                    {15 * time.Second, grant(2), nil, 3 * time.Second, 20 * ms, time.Second},
		"nothing gained":              {15 * time.Second, grant(2), grant(2), 0, 400 * ms, time.Second},
		"nothing gained, a short ttl": {time.Second, grant(2), grant(2), 0, 100 * ms, time.Second},
		"given back in the meantime":  {15 * time.Second, nil, grant(2), 0, 20 * ms, time.Second},
		"given back, and nothing had": {15 * time.Second, nil, nil, 0, 20 * ms, time.Second},
	} {
		g := empty(t, withRollback)
		p := g.pace()
		l := g.l
		l.setup.TTL, l.use.cur, l.pace.renewAt = c.ttl, c.cur, p.now.Add(-time.Second-c.due)
		l.trouble, l.pace.failures = errSilent, 3
		l.note(nil, c.before, p.now.Add(-time.Second))
		if l.trouble != nil || l.pace.failures != 0 || l.pace.renewed != p.now || l.pace.took != c.took ||
			l.pace.earliest != p.now.Add(c.earliest) {
			t.Errorf("%s: it took %v, and the earliest is in %v: %v, %d", name, l.pace.took,
				l.pace.earliest.Sub(p.now), l.trouble, l.pace.failures)
		}
		if d := l.pace.renewAt.Sub(p.now); d < c.ttl*3/10 || d > c.ttl*4/10 {
			t.Errorf("%s: the next renewal is in %v", name, d)
		}
	}
	// The log says when it fails, a second later, two and four, and when it
	// is over.
	g := empty(t, withRollback)
	p := g.pace()
	var log strings.Builder
	g.logTo(slog.NewTextHandler(&log, nil))
	g.l.note(nil, nil, p.now)
	for i := range 9 {
		changed := g.l.changed
		g.l.note(errSilent, nil, p.now)
		select {
		case <-changed:
		default:
			t.Error("who waits is not told of the trouble")
		}
		if !errors.Is(g.l.trouble, errSilent) || g.l.pace.failures != i+1 || !g.l.pace.earliest.After(p.now) ||
			g.l.pace.renewAt != g.l.pace.earliest {
			t.Errorf("after %d failures: %+v", i+1, g.l.trouble)
		}
		p.now = p.now.Add(time.Second)
	}
	if strings.Contains(log.String(), "renewed again") || strings.Count(log.String(), "not renewed") != 4 {
		t.Errorf("after 9 failures: %s", log.String())
	}
	if !strings.Contains(log.String(), "failures=8") {
		t.Errorf("the log counts the failures: %s", log.String())
	}
	g.l.note(errSilent, nil, p.now)
	g.l.note(nil, nil, p.now)
	g.l.note(nil, nil, p.now)
	g.l.note(errSilent, nil, p.now)
	g.l.note(nil, nil, p.now)
	if strings.Count(log.String(), "level=WARN msg=\"lease renewed again") != 2 {
		t.Errorf("after two successes that followed failures: %s", log.String())
	}
	// Nothing is noted after the end.
	g.l.end(ErrEnded)
	g.l.note(errSilent, nil, p.now)
	if g.l.trouble != nil {
		t.Error("noted after the end")
	}
}

// A lease ends for what it cannot heal from, and for nothing else.
func TestFatalErrors(t *testing.T) {
	for err, is := range map[error]bool{
		ErrMismatch: true, store.ErrReplaced: true, store.ErrMoved: true, snowfence.ErrLifetime: true,
		fault.ErrDeleted: true, ErrExists: true, ErrNoNamespace: false, ErrSkew: false, errSilent: false,
		store.ErrLost: false,
	} {
		if fatal(fmt.Errorf("so it is: %w", err)) != is {
			t.Errorf("%v: fatal %t", err, !is)
		}
	}
}

// A published grant is for the next caller. It stays handed out if it
// continues the one before, and satisfies the demands that it reaches.
func TestPublishedGrants(t *testing.T) {
	for name, c := range map[string]struct {
		cur    *snowfence.Grant
		handed bool
	}{
		"the same, renewed": {&snowfence.Grant{Node: 5, From: 10, Until: 20}, true},
		"another begin":     {&snowfence.Grant{Node: 5, From: 9, Until: 20}, false},
		"another node":      {&snowfence.Grant{Node: 6, From: 10, Until: 20}, false},
		"none before":       {nil, false},
	} {
		g := empty(t, withRollback)
		grant := snowfence.Grant{Node: 5, From: 10, Until: 30, Nodes: 1}
		for _, n := range []struct{ need, left int64 }{{29, -1}, {30, 30}, {31, 31}} {
			g.l.use.cur, g.l.use.handed, g.l.demand.need = c.cur, true, n.need
			g.l.publish(grant)
			if g.l.use.handed != c.handed || g.l.demand.need != n.left || *g.l.use.cur != grant {
				t.Errorf("%s, needed past %d: handed %t, needed past %d: %+v", name, n.need, g.l.use.handed,
					g.l.demand.need, *g.l.use.cur)
			}
		}
		g.l.use.spent, g.l.use.cur = true, nil
		g.l.publish(grant)
		if g.l.use.cur != nil {
			t.Errorf("%s: a grant of a caller that is gone is used: %+v", name, g.l.use.cur)
		}
	}
}

// order is a log that notes what it is told among other steps.
type order struct {
	slog.Handler
	steps *[]string
}

func (o order) Enabled(context.Context, slog.Level) bool { return true }

func (o order) Handle(_ context.Context, r slog.Record) error {
	*o.steps = append(*o.steps, r.Message)
	return nil
}

// askingLog is a log whose handler asks the lease, as one does that adds
// its state to each line.
type askingLog struct {
	slog.Handler
	t     *testing.T
	lease *Lease
	told  []string
}

func (a *askingLog) Enabled(context.Context, slog.Level) bool { return true }

func (a *askingLog) Handle(_ context.Context, r slog.Record) error {
	a.told = append(a.told, r.Message)
	if !a.lease.mu.TryLock() {
		a.t.Errorf("%q is logged with the mutex held: a handler that asks the lease would wait for ever", r.Message)
		return nil
	}
	a.lease.mu.Unlock()
	a.lease.Status()
	a.lease.Held(0)
	return a.lease.Err()
}

// A log handler that asked the lease for its status waited for ever,
// because the lease was locked.
func TestLogHandlersMayAskTheLease(t *testing.T) {
	g := holding(t)
	p := g.pace()
	log := &askingLog{Handler: slog.DiscardHandler, t: t, lease: g.l}
	g.logTo(log)
	g.l.note(errSilent, nil, p.now)
	g.l.note(nil, nil, p.now)
	g.l.note(store.ErrReplaced, nil, p.now)
	if !slices.Equal(log.told, []string{"lease not renewed", "lease renewed again", "lease not renewed"}) {
		t.Errorf("logged: %q", log.told)
	}
}

// Whatever tells of a loss comes after the seal, because a log may be slow.
func TestNothingIsLoggedBeforeTheSeal(t *testing.T) {
	for name, revision := range map[string]int64{"another holder": 9, "a store that rolled back": 0} {
		g := holding(t)
		g.pace()
		g.doubt()
		var steps []string
		g.logTo(order{slog.DiscardHandler, &steps})
		_, err := g.l.Bind(func() int64 { steps = append(steps, "sealed"); return 0 })
		g.must(err)
		g.handed()
		r := g.record(5)
		old := r.Nonce
		r.Nonce, r.Revision = "another", revision
		must(store.Put(t.Context(), g.st.Memory, store.Write{Old: old, New: r}))
		g.l.attend()
		if len(steps) < 2 || steps[0] != "sealed" ||
			slices.Contains(steps, "the store was rolled back") != (revision == 0) {
			t.Errorf("%s: %q", name, steps)
		}
	}
}

// A generator that waits may have seen its clock leap ahead. The lease
// looks at its own at once, so that both are corrected later.
func TestWhoWaitsLooksAtTheClock(t *testing.T) {
	g := empty(t, "twitter")
	g.now = g.now.Add(time.Hour)
	if _, err := g.l.Grant(over(t), g.tick(0)); err == nil || !g.l.setup.Now().Equal(g.now) {
		t.Errorf("%v; the lease's time is %v, want %v", err, g.l.setup.Now(), g.now)
	}
}
