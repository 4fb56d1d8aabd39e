package lease

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
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
		got, err := fit(ns, Options{TTL: c.asked.ttl, MaxSkew: c.asked.skew})
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
		if err := ns.limit(NamespaceOptions{MaxTTL: ttl, MaxSkew: skew}, now); err != nil {
			t.Fatal(err)
		}
	}
	is := func(want time.Duration) {
		t.Helper()
		if got := ns.limits(now).rollback(); got != want {
			t.Errorf("%v, not %v", got, want)
		}
	}
	is(80 * time.Second)
	must(0, 0)
	if ns.before != (lowered{}) {
		t.Errorf("nothing was lowered, and %+v are kept", ns.before)
	}
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
	must(0, time.Second) // the skew alone
	is(64 * time.Second)
	must(2*time.Second, 0)
	is(64 * time.Second)
	must(0, time.Minute)
	is(180 * time.Second)
	must(0, time.Second)
	now = now.Add(time.Hour)
	is(4 * time.Second)
	for _, edge := range []limits{{minTTL, time.Millisecond}, {maxTTL, maxTTL}} {
		must(edge.ttl, edge.skew)
	}
	must(2*time.Second, time.Second)
	now = now.Add(100 * time.Hour)
	for _, l := range []limits{
		{ttl: time.Millisecond}, {ttl: 25 * time.Hour}, {skew: time.Microsecond}, {skew: 25 * time.Hour},
	} {
		if err := ns.limit(NamespaceOptions{MaxTTL: l.ttl, MaxSkew: l.skew}, now); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: %v", l, err)
		}
	}
	is(4 * time.Second)
}

// A grant is used only as far ahead as the namespace allows, whatever the
// record says, and no confirmation takes back what an earlier one allowed.
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
	g.rename(func(ns *Namespace) {
		g.must(ns.limit(NamespaceOptions{MaxTTL: time.Second, MaxSkew: time.Second}, g.now))
	})
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
		more := &NamespaceOptions{MaxTTL: o.TTL, MaxSkew: o.MaxSkew}
		if _, err := op.Change(t.Context(), "n", nil, more); err != nil {
			t.Fatal(err)
		}
		l, err := Open(t.Context(), g.st, "n", g.l.scheme, &o)
		if err != nil {
			t.Fatalf("%s: as advised: %v", what, err)
		}
		l.Orphan()
	}
}

// Before its epoch a layout has two ticks that may be used. A raised floor
// is above them.
func TestLimitsBeforeTheEpoch(t *testing.T) {
	l := snowfence.MustLayout("time=41,node=4,seq=12,epoch=2100-01-01")
	ns, now := Namespace{MaxTTL: time.Second, MaxSkew: time.Second}, time.Unix(0, 0)
	if reach, above := (ticks{layout: l}).reach(ns, now), ns.above(l, now); reach != 2 || above != 3 {
		t.Errorf("used are ticks below %d, and a floor is %d", reach, above)
	}
}

// What the options do not name is the namespace's, and what they name
// stays.
func TestSettledLimits(t *testing.T) {
	ns := Namespace{Name: "n", MaxTTL: 3 * time.Second, MaxSkew: 2 * time.Second}
	for _, asked := range []limits{{}, {ttl: time.Second}, {skew: time.Second}, {time.Second, time.Second}} {
		c := &storeClaim{setup: &setup{opts: Options{TTL: asked.ttl, MaxSkew: asked.skew}}}
		c.ticks.ttl = asked.ttl
		want := limits{cmp.Or(asked.ttl, ns.MaxTTL), cmp.Or(asked.skew, ns.MaxSkew)}
		if err := c.settle(ns); err != nil || c.opts.TTL != want.ttl || c.opts.MaxSkew != want.skew ||
			c.ticks.ttl != want.ttl {
			t.Errorf("%v: %v, %v, ticks %v, %v", asked, c.opts.TTL, c.opts.MaxSkew, c.ticks.ttl, err)
		}
	}
}

// A lease whose grant begins ahead renews it when its first tick is near.
func TestPlanOfAGrantAhead(t *testing.T) {
	g := holding(t)
	for ahead, want := range map[time.Duration]time.Duration{
		time.Minute:      45*time.Second + time.Millisecond,
		16 * time.Second: time.Second + time.Millisecond,
		15 * time.Second: time.Millisecond,
	} {
		from := g.tick(ahead)
		g.l.use.cur = &snowfence.Grant{Node: 5, From: from, Until: from}
		g.l.demand.need, g.l.demand.used = -1, g.l.world.Now()
		g.l.pace.renewAt, g.l.pace.earliest = g.l.world.Now().Add(time.Hour), g.l.world.Now()
		if wait := g.l.plan(); wait > want || wait < want-time.Minute {
			t.Errorf("%v ahead: renewed in %v, not %v", ahead, wait, want)
		}
	}
}

// A namespace that exists has its limits, and one that comes back may have
// others.
func TestLimitsAtTheCreation(t *testing.T) {
	g := empty(t, withRollback)
	op := Namespaces(g.st)
	for _, o := range []*NamespaceOptions{{MaxTTL: time.Minute}, {MaxSkew: time.Minute}} {
		if _, err := op.Create(t.Context(), "n", g.l.scheme, o); !errors.Is(err, ErrExists) {
			t.Errorf("%+v of a namespace that has others: %v", o, err)
		}
	}
	if _, err := op.Create(t.Context(), "n", g.l.scheme, &NamespaceOptions{MaxTTL: usual.ttl}); err != nil {
		t.Error(err)
	}
	if _, err := op.Create(t.Context(), "m", g.l.scheme, &NamespaceOptions{MaxTTL: 1}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a ttl of a nanosecond: %v", err)
	}
	_, err := op.Delete(t.Context(), "n")
	g.must(err)
	ns, err := op.Create(t.Context(), "n", g.l.scheme, &NamespaceOptions{MaxTTL: time.Minute})
	if err != nil || ns.MaxTTL != time.Minute || ns.MaxSkew != usual.skew {
		t.Errorf("%+v, %v", ns, err)
	}
}
