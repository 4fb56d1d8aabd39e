package claim

import (
	"cmp"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// limits are of a namespace or a lease.
type limits struct{ ttl, skew time.Duration }

// A lease has the limits of its namespace, or smaller ones.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		ns, asked, want limits
		ok              bool
	}{
		{ns: limits{15 * time.Second, 15 * time.Second}, want: limits{15 * time.Second, 15 * time.Second}, ok: true},
		{ns: limits{time.Second, 100 * time.Millisecond}, want: limits{time.Second, 100 * time.Millisecond}, ok: true},
		{ns: limits{time.Hour, time.Minute}, want: limits{15 * time.Second, 15 * time.Second}, ok: true},
		{ns: limits{time.Hour, time.Minute}, asked: limits{time.Hour, time.Minute}, want: limits{time.Hour, time.Minute}, ok: true},
		{ns: limits{time.Hour, time.Minute}, asked: limits{time.Hour + 1, time.Minute}},
		{ns: limits{time.Hour, time.Minute}, asked: limits{time.Hour, time.Minute + 1}},
	} {
		ns := scope.Namespace{Name: "n", Terms: scope.Terms{MaxTTL: c.ns.ttl, MaxSkew: c.ns.skew}}
		ttl, skew, err := ttlAndSkew(ns, Settings{TTL: c.asked.ttl, MaxSkew: c.asked.skew})
		got := limits{ttl, skew}
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, fault.ErrInvalid) || c.ok && got != c.want {
			t.Errorf("%v of %v: %v, %v", c.asked, c.ns, got, err)
		}
	}
}

// A grant is used only as far ahead as the namespace allows, whatever the
// record says, and no confirmation takes back what an earlier one allowed.
func TestConfirmedReach(t *testing.T) {
	g := empty(t, playLayout)
	g.change(g.key("5"), func(r *store.Record) {
		r.Nonce, r.Generation = "x", 1
		r.From, r.Until = g.tick(0), g.tick(time.Minute)
	})
	grant, err := g.c.acquire(t.Context(), false)
	g.must(err)
	if from := g.tick(time.Minute); grant.From != from || grant.Until != from || g.record(g.key("5")).Until != from+1 {
		t.Fatalf("granted %d to %d, not nothing from %d on", grant.From, grant.Until, from)
	}
	g.now = g.now.Add(45*time.Second - 2*time.Millisecond)
	grant, err = g.c.proceed(t.Context())
	g.must(err)
	if grant.Until != grant.From {
		t.Errorf("a millisecond early: %+v", grant)
	}
	g.now = g.now.Add(time.Millisecond)
	grant, err = g.c.proceed(t.Context())
	g.must(err)
	if grant.Until != grant.From+1 {
		t.Errorf("in time: %+v", grant)
	}
	g.now = g.now.Add(10 * time.Second)
	grant, err = g.c.proceed(t.Context())
	g.must(err)
	before := grant
	g.rename(func(ns *scope.Namespace) {
		ns.MaxTTL, ns.MaxSkew = time.Second, time.Second
	})
	grant, err = g.c.proceed(t.Context())
	g.must(err)
	if grant != before {
		t.Errorf("%+v became %+v", before, grant)
	}
	g.now = g.now.Add(10 * time.Second)
	grant, err = g.c.proceed(t.Context())
	g.must(err)
	if want := max(before.Until, g.tick(time.Second)+2); grant.Until != want {
		t.Errorf("%d after the ttl was lowered, not %d", grant.Until, want)
	}
}

// Before its epoch a layout has two ticks that may be used. A raised floor
// is above them.
func TestLimitsBeforeTheEpoch(t *testing.T) {
	g := empty(t, "time=41,node=4,seq=12,epoch=2100-01-01")
	g.now = time.Unix(0, 0)
	ns, err := g.namespace().Raise(t.Context(), storage{g.play}, g.now, "one", 0, 0)
	g.must(err)
	if reach := g.c.reach(ns, g.now); reach != 2 || ns.Floor != 3 {
		t.Errorf("used are ticks below %d, and a floor is %d", reach, ns.Floor)
	}
}

// What the options do not name is the namespace's, and what they name
// stays.
func TestSettledLimits(t *testing.T) {
	ns := scope.Namespace{Name: "n", Terms: scope.Terms{MaxTTL: 3 * time.Second, MaxSkew: 2 * time.Second}}
	for _, asked := range []limits{{}, {ttl: time.Second}, {skew: time.Second}, {time.Second, time.Second}} {
		c := &storeClaim{Setup: &Setup{Settings: Settings{TTL: asked.ttl, MaxSkew: asked.skew}}}
		c.Ticks.TTL = asked.ttl
		want := limits{cmp.Or(asked.ttl, ns.MaxTTL), cmp.Or(asked.skew, ns.MaxSkew)}
		if err := c.fillSettings(ns); err != nil || c.TTL != want.ttl || c.MaxSkew != want.skew ||
			c.Ticks.TTL != want.ttl {
			t.Errorf("%v: %v, %v, ticks %v, %v", asked, c.TTL, c.MaxSkew, c.Ticks.TTL, err)
		}
	}
}

// Who is allowed a lease is told once that the store's identity has a
// source that the program may not read.
func TestClosedIdentityIsTold(t *testing.T) {
	for id, told := range map[string]bool{"s:1:2": false, "s:" + store.Closed + ":2": true} {
		g := empty(t, playLayout)
		g.id = id
		g.rename(func(ns *scope.Namespace) { ns.Identity = id })
		var log strings.Builder
		g.c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		g.must(g.c.register(t.Context()))
		if got := strings.Count(log.String(), "all of its identity"); (got == 1) != told || got > 1 {
			t.Errorf("%s: it is told %d times", id, got)
		}
		g.c.MaxSkew = time.Hour
		log.Reset()
		if err := g.c.register(t.Context()); !errors.Is(err, fault.ErrInvalid) || log.Len() != 0 {
			t.Errorf("%s: %v, and the log has %s", id, err, log.String())
		}
	}
}

// A store that tells less of itself is used again after an operator
// accepted that. What it tells more counts from then on.
func TestIdentityOfFewerSources(t *testing.T) {
	g := holding(t)
	g.rename(func(ns *scope.Namespace) { ns.Identity = "s:1:2" })
	g.id = "s:-:2"
	is := func(want string) {
		t.Helper()
		if ns := g.namespace(); ns.Identity != want || ns.Generation != 1 {
			t.Errorf("the namespace has seen %q in generation %d, not %q", ns.Identity, ns.Generation, want)
		}
	}
	_, renewed := g.c.proceed(t.Context())
	_, used := g.c.usable(t.Context())
	raised := g.c.raiseFloor(t.Context(), never)
	_, restored := scope.Namespaces(storage{g.play}).Restored(t.Context(), "n")
	for _, err := range []error{renewed, used, raised, restored} {
		if !errors.Is(err, fault.ErrRefused) || IsLost(err) {
			t.Errorf("less of the identity: %v", err)
		}
	}
	is("s:1:2")
	if told := g.players["stage"].events.kinds; g.c.held == nil || len(told) > 0 {
		t.Fatalf("the hold is lost, or another store is reported: %q", told)
	}
	must(scope.Namespaces(storage{g.play}).Confirm(t.Context(), "n"))
	is("s:-:2")
	g.must(second(g.c.proceed(t.Context())))
	g.id = "s:1:2"
	g.must(second(g.c.proceed(t.Context())))
	is("s:1:2")
	g.rename(func(ns *scope.Namespace) { ns.Identity = "s:1:-" })
	g.must(second(g.c.usable(t.Context())))
	is("s:1:2")
	g.id = "s:1:3"
	if _, err := g.c.proceed(t.Context()); !IsLost(err) || g.c.lossAfter == nil {
		t.Errorf("another store: %v", err)
	}
}

func never(scope.Namespace, string) bool { return false }
