package lease

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

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
		ns := Namespace{Name: "n", MaxTTL: c.ns.ttl, MaxSkew: c.ns.skew}
		got, err := ns.fit(Options{TTL: c.asked.ttl, MaxSkew: c.asked.skew})
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, ErrInvalid) || c.ok && got != c.want {
			t.Errorf("%v of %v: %v, %v", c.asked, c.ns, got, err)
		}
	}
}

// Limits that were lowered count until the grants of that time have ended.
func TestLoweredLimits(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	ns := Namespace{MaxTTL: time.Minute, MaxSkew: 10 * time.Second}
	must := func(ttl, skew time.Duration) {
		t.Helper()
		if err := ns.limit(ttl, skew, now); err != nil {
			t.Fatal(err)
		}
	}
	is := func(want time.Duration) {
		t.Helper()
		if got := ns.AfterRollback(now); got != want {
			t.Errorf("%v, not %v", got, want)
		}
	}
	is(80 * time.Second)
	must(2*time.Minute, 0)
	is(140 * time.Second)
	must(time.Second, 0)
	is(140 * time.Second)
	now = now.Add(139 * time.Second)
	is(140 * time.Second)
	must(2*time.Second, time.Second)
	is(140 * time.Second)
	now = now.Add(139 * time.Second)
	is(140 * time.Second)
	now = now.Add(time.Second)
	is(4 * time.Second)
	must(time.Second, 0)
	must(time.Minute, 2*time.Second) // larger than the limits that still count
	is(64 * time.Second)
	must(2*time.Second, time.Second)
	now = now.Add(time.Hour)
	is(4 * time.Second)
	for _, l := range []limits{
		{ttl: time.Millisecond}, {ttl: 25 * time.Hour}, {skew: time.Microsecond}, {skew: 25 * time.Hour},
	} {
		if err := ns.limit(l.ttl, l.skew, now); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: %v", l, err)
		}
	}
	is(4 * time.Second)
}

// A grant is used only as far ahead as the namespace allows, whatever the record says, and no
// confirmation takes back what an earlier one allowed.
func TestConfirmedReach(t *testing.T) {
	g := empty(t, withRollback)
	g.change(5, func(r *store.Record) {
		r.Nonce, r.Generation = "x", 1
		r.From, r.Until = g.tick(0), g.tick(time.Minute)
	})
	grant, err := g.c.acquire(t.Context(), false)
	g.must(err)
	if from := g.tick(time.Minute); grant.From != from || grant.Until != from || g.record(5).Until != from+1 {
		t.Fatalf("granted %d to %d, not nothing from %d on", grant.From, grant.Until, from)
	}
	g.l.publish(grant)
	if _, ok := g.l.Held(-1); ok || g.l.Status().Held {
		t.Error("a grant without a tick that may be used was handed out")
	}
	g.now = g.now.Add(45*time.Second - 2*time.Millisecond)
	grant, err = g.c.renew(t.Context())
	g.must(err)
	if grant.Until != grant.From {
		t.Errorf("a millisecond early: %+v", grant)
	}
	g.now = g.now.Add(time.Millisecond)
	grant, err = g.c.renew(t.Context())
	g.must(err)
	if grant.Until != grant.From+1 {
		t.Errorf("in time: %+v", grant)
	}
	g.now = g.now.Add(10 * time.Second)
	grant, err = g.c.renew(t.Context())
	g.must(err)
	before := grant
	g.rename(func(ns *Namespace) { g.must(ns.limit(time.Second, time.Second, g.now)) })
	grant, err = g.c.renew(t.Context())
	g.must(err)
	if grant != before {
		t.Errorf("%+v became %+v", before, grant)
	}
	g.now = g.now.Add(10 * time.Second)
	grant, err = g.c.renew(t.Context())
	g.must(err)
	if want := max(before.Until, g.tick(time.Second)+2); grant.Until != want {
		t.Errorf("%d after the ttl was lowered, not %d", grant.Until, want)
	}
}

// The errors about limits name the change that allows the lease.
func TestLimitsAreRaisedAsAdvised(t *testing.T) {
	for what, o := range map[string]Options{
		"--max-ttl 1m0s": {TTL: time.Minute}, "--max-skew 1m0s": {MaxSkew: time.Minute},
	} {
		g := empty(t, withRollback)
		op := Namespaces(g.st)
		_, err := Open(t.Context(), g.st, "n", g.l.scheme, &o)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "(snowfence namespace change n "+what+")") {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := op.Change(t.Context(), "n", NamespaceChange{MaxTTL: o.TTL, MaxSkew: o.MaxSkew}); err != nil {
			t.Fatal(err)
		}
		l, err := Open(t.Context(), g.st, "n", g.l.scheme, &o)
		if err != nil {
			t.Fatalf("%s: as advised: %v", what, err)
		}
		l.Orphan()
	}
}
