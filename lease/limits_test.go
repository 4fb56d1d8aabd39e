package lease

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
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
		ns := scope.Namespace{Name: "n", MaxTTL: c.ns.ttl, MaxSkew: c.ns.skew}
		ttl, skew, err := fit(ns, settings{TTL: c.asked.ttl, MaxSkew: c.asked.skew})
		got := limits{ttl, skew}
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, ErrInvalid) || c.ok && got != c.want {
			t.Errorf("%v of %v: %v, %v", c.asked, c.ns, got, err)
		}
	}
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
	g.rename(func(ns *scope.Namespace) {
		ns.MaxTTL, ns.MaxSkew = time.Second, time.Second
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
		op := scope.Namespaces(g.st)
		_, err := Open(t.Context(), g.st, "n", g.l.setup.scheme, &o)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "(snowfence namespace change n "+what+")") {
			t.Errorf("%s: %v", what, err)
		}
		more := &scope.NamespaceOptions{MaxTTL: o.TTL, MaxSkew: o.MaxSkew}
		if _, err := op.Change(t.Context(), "n", nil, more); err != nil {
			t.Fatal(err)
		}
		l, err := Open(t.Context(), g.st, "n", g.l.setup.scheme, &o)
		if err != nil {
			t.Fatalf("%s: as advised: %v", what, err)
		}
		l.Orphan()
	}
}

// Before its epoch a layout has two ticks that may be used. A raised floor
// is above them.
func TestLimitsBeforeTheEpoch(t *testing.T) {
	g := empty(t, "time=41,node=4,seq=12,epoch=2100-01-01")
	g.now = time.Unix(0, 0)
	ns, err := g.namespace().Raise(t.Context(), g.st, g.now, "one", 0, 0)
	g.must(err)
	if reach := g.l.setup.ticks.reach(ns, g.now); reach != 2 || ns.Floor != 3 {
		t.Errorf("used are ticks below %d, and a floor is %d", reach, ns.Floor)
	}
}

// What the options do not name is the namespace's, and what they name
// stays.
func TestSettledLimits(t *testing.T) {
	ns := scope.Namespace{Name: "n", MaxTTL: 3 * time.Second, MaxSkew: 2 * time.Second}
	for _, asked := range []limits{{}, {ttl: time.Second}, {skew: time.Second}, {time.Second, time.Second}} {
		c := &storeClaim{setup: &setup{settings: settings{TTL: asked.ttl, MaxSkew: asked.skew}}}
		c.ticks.ttl = asked.ttl
		want := limits{cmp.Or(asked.ttl, ns.MaxTTL), cmp.Or(asked.skew, ns.MaxSkew)}
		if err := c.settle(ns); err != nil || c.TTL != want.ttl || c.MaxSkew != want.skew ||
			c.ticks.ttl != want.ttl {
			t.Errorf("%v: %v, %v, ticks %v, %v", asked, c.TTL, c.MaxSkew, c.ticks.ttl, err)
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
		g.l.demand.need, g.l.demand.used = -1, g.l.setup.world.Now()
		g.l.pace.renewAt, g.l.pace.earliest = g.l.setup.world.Now().Add(time.Hour), g.l.setup.world.Now()
		if wait := g.l.plan(); wait > want || wait < want-time.Minute {
			t.Errorf("%v ahead: renewed in %v, not %v", ahead, wait, want)
		}
	}
}
