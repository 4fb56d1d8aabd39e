package scope

import (
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/internal/fault"
)

// Limits that were lowered count until the grants of that time have ended.
func TestLoweredLimits(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	ns := Namespace{Terms: Terms{MaxTTL: time.Minute, MaxSkew: 10 * time.Second}}
	must := func(ttl, skew time.Duration) {
		t.Helper()
		noError(t, ns.limit(NamespaceOptions{MaxTTL: ttl, MaxSkew: skew}, now))
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
	for _, edge := range []limits{{MinTTL, time.Millisecond}, {MaxTTL, MaxTTL}} {
		must(edge.ttl, edge.skew)
	}
	must(2*time.Second, time.Second)
	now = now.Add(100 * time.Hour)
	for _, l := range []limits{
		{ttl: time.Millisecond}, {ttl: 25 * time.Hour}, {skew: time.Microsecond}, {skew: 25 * time.Hour},
	} {
		wantErr(t, ns.limit(NamespaceOptions{MaxTTL: l.ttl, MaxSkew: l.skew}, now), fault.ErrInvalid, "%v", l)
	}
	is(4 * time.Second)
}

// A namespace that exists has its limits, and one that comes back may have
// others.
func TestLimitsAtTheCreation(t *testing.T) {
	g := empty(t, withRollback)
	op := Namespaces(g.st)
	for _, o := range []*NamespaceOptions{{MaxTTL: time.Minute}, {MaxSkew: time.Minute}} {
		wantErr(t, errOf(op.Create(t.Context(), "n", g.s, o)), fault.ErrExists, "%+v of a namespace that has others", o)
	}
	must(op.Create(t.Context(), "n", g.s, &NamespaceOptions{MaxTTL: DefaultTTL}))
	wantErr(t, errOf(op.Create(t.Context(), "m", g.s, &NamespaceOptions{MaxTTL: 1})), fault.ErrInvalid,
		"a ttl of a nanosecond")
	_, err := op.Delete(t.Context(), "n")
	g.must(err)
	ns, err := op.Create(t.Context(), "n", g.s, &NamespaceOptions{MaxTTL: time.Minute})
	if err != nil || ns.MaxTTL != time.Minute || ns.MaxSkew != DefaultTTL {
		t.Errorf("%+v, %v", ns, err)
	}
}

// A namespace of a later format is refused by all who read it.
func TestFormat(t *testing.T) {
	g := empty(t, "twitter")
	r := g.namespace().record
	later := strings.Replace(r.Data, `"format":1`, `"format":2`, 1)
	if later == r.Data {
		t.Fatalf("%s has no format", r.Data)
	}
	r.Data = later
	says(t, errOf(ReadNamespace(g.st, r)), "start one of the version that the others have", "")
}
