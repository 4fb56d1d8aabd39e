package lease

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// The long range begins with its first node, and only nodes in it have its ttl and its floor.
func TestNodesOfTheLongRange(t *testing.T) {
	ns := Namespace{Nodes: snowfence.NodeRange{From: 2, Until: 16}, MaxTTL: 15 * time.Second, Floor: 50}
	for _, c := range []struct {
		long  Long
		node  int64
		ttl   time.Duration
		floor int64
	}{
		{Long{}, 9, 15 * time.Second, 50},
		{Long{8, time.Hour, 70}, 7, 15 * time.Second, 50},
		{Long{8, time.Hour, 70}, 8, time.Hour, 70},
		{Long{8, time.Hour, 70}, 9, time.Hour, 70},
		{Long{8, time.Hour, 20}, 9, time.Hour, 50},
	} {
		ns.Long = c.long
		if ttl, floor := ns.maxTTL(c.node), ns.FloorOf(c.node); ttl != c.ttl || floor != c.floor {
			t.Errorf("node %d beside %+v: ttl %v, floor %d", c.node, c.long, ttl, floor)
		}
	}
	for ttl, want := range map[time.Duration]snowfence.NodeRange{
		time.Second: {From: 2, Until: 8}, 15 * time.Second: {From: 2, Until: 8}, 16 * time.Second: {From: 8, Until: 16},
	} {
		if got := ns.nodesFor(ttl); got != want {
			t.Errorf("a ttl of %v has the nodes %v, not %v", ttl, got, want)
		}
	}
	ns.Long = Long{}
	if got := ns.nodesFor(time.Hour); got != ns.Nodes {
		t.Errorf("without a long range: %v", got)
	}
}

// A long range is whole units above others, and its ttl is longer than theirs.
func TestLongRangeThatIsRefused(t *testing.T) {
	for _, c := range []struct {
		long Long
		ok   bool
	}{
		{Long{First: 8, MaxTTL: time.Hour}, true},
		{Long{First: 12, MaxTTL: 24 * time.Hour}, true},
		{Long{First: 10, MaxTTL: time.Hour}, false}, // inside a unit
		{Long{First: 4, MaxTTL: time.Hour}, false},  // nothing is left for others
		{Long{First: 16, MaxTTL: time.Hour}, false}, // nothing is in it
		{Long{First: 8, MaxTTL: time.Minute}, false},
		{Long{First: 8, MaxTTL: 24*time.Hour + 1}, false},
		{Long{First: 8, MaxTTL: -1}, false},
	} {
		g := empty(t, "time=41,node=8,seq=12,epoch=2025-01-01")
		o := NamespaceOptions{
			Nodes: snowfence.NodeRange{From: 4, Until: 16}, Unit: 4, MaxTTL: time.Minute, Long: &c.long,
		}
		_, err := Namespaces(g.st).Create(t.Context(), "m", g.l.scheme, &o)
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", c.long, err)
		}
		o.Unused = g.now.Add(-time.Hour)
		_, err = Namespaces(g.st).Change(t.Context(), "n", nil, &o)
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, ErrInvalid) {
			t.Errorf("a change to %+v: %v", c.long, err)
		}
		_, err = Namespaces(g.st).Change(t.Context(), "n", g.scheme("time=42,node=8,seq=12,epoch=2025-01-01"), &o)
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, ErrInvalid) {
			t.Errorf("a layout with %+v: %v", c.long, err)
		}
	}
}

// What a long range allowed holds until the grants of then have ended, and nodes that leave it
// bring its floor.
func TestLoweredLongRange(t *testing.T) {
	hour, half := Long{First: 8, MaxTTL: time.Hour}, Long{First: 8, MaxTTL: time.Hour / 2}
	for name, c := range map[string]struct {
		o           NamespaceOptions
		short, long time.Duration // that holds after the change
		floor       int64
	}{
		"nothing":     {NamespaceOptions{}, time.Minute, time.Hour, 50},
		"the same":    {NamespaceOptions{Long: &hour}, time.Minute, time.Hour, 50},
		"longer":      {NamespaceOptions{Long: &Long{First: 8, MaxTTL: 2 * time.Hour}}, time.Minute, 2 * time.Hour, 50},
		"more nodes":  {NamespaceOptions{Long: &Long{First: 4, MaxTTL: time.Hour}}, time.Minute, time.Hour, 50},
		"shorter":     {NamespaceOptions{Long: &half}, time.Hour, time.Hour, 50},
		"fewer nodes": {NamespaceOptions{Long: &Long{First: 12, MaxTTL: time.Hour}}, time.Hour, time.Hour, 70},
		"none":        {NamespaceOptions{Long: &Long{}}, time.Hour, time.Hour, 70},
		"others":      {NamespaceOptions{MaxTTL: time.Second}, time.Hour, time.Hour, 50},
		"a skew":      {NamespaceOptions{MaxSkew: time.Second}, time.Hour, time.Hour, 50},
	} {
		now := time.UnixMilli(1_000_000)
		ns := Namespace{MaxTTL: time.Minute, MaxSkew: time.Minute, Floor: 50, Long: Long{8, time.Hour, 70}}
		if err := ns.limit(c.o, now); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if ns.Floor != c.floor {
			t.Errorf("%s: the floor is %d, not %d", name, ns.Floor, c.floor)
		}
		now = now.Add(time.Hour + 2*time.Minute - time.Millisecond)
		if l, s := ns.limits(true, now), ns.limits(false, now); s != (limits{c.short, time.Minute}) ||
			l != (limits{c.long, time.Minute}) {
			t.Errorf("%s: %v, and %v in the range", name, s, l)
		}
		now = now.Add(time.Millisecond)
		if s := ns.limits(false, now); s.ttl != ns.MaxTTL || s.skew != ns.MaxSkew {
			t.Errorf("%s: later %v", name, s)
		}
		if name == "none" && ns.Long != (Long{}) || name == "shorter" && ns.Long != (Long{8, time.Hour / 2, 70}) {
			t.Errorf("%s: %+v", name, ns.Long)
		}
	}
	ns := Namespace{MaxTTL: time.Minute, MaxSkew: time.Minute, Floor: 50}
	if err := ns.limit(NamespaceOptions{Long: &hour}, time.Now()); err != nil || ns.before != (lowered{}) ||
		ns.Long != hour || ns.Floor != 50 {
		t.Errorf("a first range: %+v, %v", ns, err)
	}
	ns.Long.Floor = 20
	if err := ns.limit(NamespaceOptions{Long: &Long{}}, time.Now()); err != nil || ns.Floor != 50 {
		t.Errorf("a range with a lower floor: %+v, %v", ns, err)
	}
}

// After a restore each range begins above all that its own ttl allowed.
func TestRaiseOfEachRange(t *testing.T) {
	g := empty(t, withRollback)
	l := g.l.ticks.layout
	for _, c := range []struct{ long, want Long }{
		{Long{}, Long{}},
		{Long{8, time.Hour, 0}, Long{8, time.Hour, g.tick(time.Hour+30*time.Second) + 3}},
		{Long{8, time.Hour, 1 << 40}, Long{8, time.Hour, 1 << 40}},
	} {
		ns := Namespace{MaxTTL: usual.ttl, MaxSkew: usual.skew, Long: c.long}
		ns.raise(l, g.now, "two")
		if ns.Floor != g.tick(45*time.Second)+3 || ns.Long != c.want {
			t.Errorf("%+v: floor %d, range %+v", c.long, ns.Floor, ns.Long)
		}
	}
}

// ranged returns a stage with a long range from node 8 on. Its lease may have any node.
func ranged(t *testing.T, ttl time.Duration) *stage {
	g := empty(t, withRollback)
	g.rename(func(ns *Namespace) { ns.Long = Long{8, time.Hour, 0} })
	g.l.opts.Node, g.l.opts.TTL, g.l.ticks.ttl = nil, ttl, ttl
	return g
}

// A lease gets a node by its ttl, and ticks as far ahead as that node allows.
func TestLeaseInARange(t *testing.T) {
	for name, c := range map[string]struct {
		ttl    time.Duration
		fixed  int64 // −1 for any
		block  int
		within snowfence.NodeRange
		reach  time.Duration // 0 where the lease is refused
	}{
		"short":                {ttl: 15 * time.Second, fixed: -1, reach: 15 * time.Second},
		"long":                 {ttl: time.Hour, fixed: -1, reach: time.Hour},
		"between":              {ttl: time.Minute, fixed: -1, reach: time.Minute},
		"too long":             {ttl: time.Hour + 1, fixed: -1},
		"long, outside":        {ttl: time.Hour, fixed: 7},
		"long, of its first":   {ttl: time.Hour, fixed: 8, reach: time.Hour},
		"short, inside":        {ttl: time.Second, fixed: 9, reach: time.Second},
		"a block":              {ttl: time.Second, fixed: -1, block: 8, reach: time.Second},
		"a block too long":     {ttl: time.Second, fixed: -1, block: 16},
		"a long block":         {ttl: time.Hour, fixed: -1, block: 16, reach: time.Hour},
		"within":               {ttl: time.Hour, fixed: -1, within: snowfence.NodeRange{Until: 9}, reach: time.Hour},
		"within others":        {ttl: time.Hour, fixed: -1, within: snowfence.NodeRange{Until: 8}},
		"short, within others": {ttl: time.Second, fixed: -1, within: snowfence.NodeRange{From: 8, Until: 20}},
	} {
		g := ranged(t, c.ttl)
		g.l.opts.Within, g.l.opts.Nodes = c.within, max(c.block, 1)
		if c.fixed >= 0 {
			g.l.opts.Node = &c.fixed
		}
		grant, err := g.c.acquire(t.Context(), false)
		if (err == nil) != (c.reach > 0) {
			t.Errorf("%s: %+v, %v", name, grant, err)
		}
		if err != nil {
			continue
		}
		if long := grant.Node >= 8; c.fixed < 0 && long != (c.ttl > 15*time.Second) ||
			long != (grant.Node+grant.Nodes > 8) || grant.Until != g.tick(c.reach) {
			t.Errorf("%s: %+v, and now is %d", name, grant, g.tick(0))
		}
	}
}

// A holder whose node left the range, and a block over its first node, use no more ticks than the
// other nodes may, and the block begins above both floors.
func TestLongTTLOutsideTheRange(t *testing.T) {
	g := ranged(t, time.Hour)
	first, err := g.c.acquire(t.Context(), false)
	g.must(err)
	_, err = Namespaces(g.st).Change(t.Context(), "n", nil, &NamespaceOptions{Long: &Long{}})
	g.must(err)
	g.now = g.now.Add(time.Hour)
	next, err := g.c.renew(t.Context())
	g.must(err)
	if want := g.tick(15*time.Second) + 2; next.Node != first.Node || next.Until != want {
		t.Errorf("%+v became %+v, not until %d", first, next, want)
	}

	g = ranged(t, time.Minute)
	g.rename(func(ns *Namespace) { ns.Long = Long{2, time.Hour, g.tick(0) + 5} })
	g.l.opts.Node, g.l.opts.Nodes = new(int64), 4
	g.l.opts.TTL, g.l.ticks.ttl = 15*time.Second, time.Minute
	grant, err := g.c.acquire(t.Context(), false)
	g.must(err)
	if grant.From != g.tick(0)+5 || grant.Until != g.tick(15*time.Second)+2 {
		t.Errorf("%+v, and now is %d", grant, g.tick(0))
	}
}

// After a restore nobody gets a node of the long range until it is over its floor. Other nodes
// begin sooner.
func TestLongRangeWaits(t *testing.T) {
	g := ranged(t, time.Hour)
	ns, err := Namespaces(g.st).Restored(t.Context(), "n")
	g.must(err)
	g.now = g.l.ticks.layout.TimeOf(ns.Long.Floor - 1)
	_, err = g.c.acquire(t.Context(), false)
	if !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), "a ttl of at most 15s") {
		t.Errorf("a millisecond early: %v", err)
	}
	g.now = g.now.Add(time.Millisecond)
	if grant, err := g.c.acquire(t.Context(), false); err != nil || grant.From != ns.Long.Floor || grant.Node < 8 {
		t.Errorf("in time: %+v, %v", grant, err)
	}
	for over, ok := range map[int64]bool{0: true, 1: false} {
		g = ranged(t, time.Hour)
		g.rename(func(ns *Namespace) { ns.Floor, ns.Long.Floor = g.tick(time.Minute), g.tick(time.Minute)+over })
		if _, err := g.c.acquire(t.Context(), false); (err == nil) != ok {
			t.Errorf("its floor is %d above that of all: %v", over, err)
		}
	}
	g = ranged(t, time.Second)
	g.rename(func(ns *Namespace) { ns.Long.Floor = g.tick(time.Hour) })
	if grant, err := g.c.acquire(t.Context(), false); err != nil || grant.From > g.tick(0) {
		t.Errorf("of the other nodes: %+v, %v", grant, err)
	}
}

// A holder that saw a loss raises the floor of its own range above what it was granted, and is
// content with a floor that is.
func TestRaiseAboveWhatWasGranted(t *testing.T) {
	for _, c := range []struct {
		ttl         time.Duration
		short, long int64 // floors after the loss, above what was granted
	}{{time.Hour, -1, 0}, {15 * time.Second, 0, 1}} {
		g := ranged(t, c.ttl)
		grant, err := g.c.acquire(t.Context(), false)
		g.must(err)
		g.c.reached[grant.Node] += 1 << 30 // as granted by a clock that was ahead
		reached := g.c.reached[grant.Node]
		g.gone(grant.Node)
		for range 2 {
			_ = g.do(g.c.next(t.Context()))
		}
		ns := g.namespace()
		if over := ns.FloorOf(grant.Node); over != reached || (ns.Floor < reached) != (c.short < 0) ||
			g.st.suspected != 1 {
			t.Errorf("%v: floors %d and %d, granted %d, %d suspicions", c.ttl, ns.Floor, ns.Long.Floor, reached,
				g.st.suspected)
		}

		g = ranged(t, c.ttl)
		grant, err = g.c.acquire(t.Context(), false)
		g.must(err)
		g.gone(grant.Node)
		g.rename(func(ns *Namespace) { // another one did it
			ns.Generation, ns.Floor, ns.Long.Floor = ns.Generation+1, g.tick(45*time.Second), g.tick(2*time.Hour)
		})
		for range 2 {
			_ = g.do(g.c.next(t.Context()))
		}
		if after := g.namespace(); g.st.suspected != 0 || after.Floor != g.tick(45*time.Second) {
			t.Errorf("%v: raised again: %+v, %d suspicions", c.ttl, after, g.st.suspected)
		}
	}
}

// A holder that had nodes of both ranges raises each floor above what it was granted there.
func TestRaiseAboveBothRanges(t *testing.T) {
	g := ranged(t, time.Hour)
	short, long := g.tick(2*time.Hour), g.tick(3*time.Hour) // by a clock that was ahead
	g.c.note(2, 0, short)
	g.c.note(2, 0, short-1)
	g.c.note(9, 0, long)
	g.must(g.c.raiseFloor(t.Context(), func(ns Namespace, _ string) bool { return g.c.below(ns) }))
	if ns := g.namespace(); ns.Floor != short || ns.Long.Floor != long || !g.c.below(ns) {
		t.Errorf("floors %d and %d, not %d and %d", ns.Floor, ns.Long.Floor, short, long)
	}
	g.c.note(2, 0, short+1)
	if g.c.below(g.namespace()) {
		t.Error("a floor below a grant suffices")
	}
}

// A raised floor of the range is no lower for what a holder was granted, and a grant without a tick
// says nothing about what can have been used.
func TestRaiseAboveLittle(t *testing.T) {
	g := ranged(t, time.Hour)
	g.c.note(9, 10, 10)
	if len(g.c.reached) != 0 {
		t.Errorf("nothing was granted up to %d", g.c.reached)
	}
	g.c.note(9, 10, 11)
	if g.c.reached[9] != 11 {
		t.Errorf("granted up to %d", g.c.reached)
	}
	g.must(g.c.raiseFloor(t.Context(), never))
	if floor, want := g.namespace().Long.Floor, g.tick(time.Hour+30*time.Second)+3; floor != want {
		t.Errorf("the floor is %d, not %d", floor, want)
	}
}

// Functions that get a node of the long range begin above what can have been granted of it.
func TestFunctionsInTheLongRange(t *testing.T) {
	for node, want := range map[int64]time.Duration{2: time.Minute, 20: time.Hour} {
		g := empty(t, "time=41,node=8,seq=12,epoch=2025-01-01")
		far := g.l.ticks.layout.TickOf(time.Now())
		g.rename(func(ns *Namespace) {
			ns.Nodes = snowfence.NodeRange{From: 4, Until: 16}
			ns.Floor, ns.Long = far+time.Minute.Milliseconds(), Long{8, time.Hour, far + time.Hour.Milliseconds()}
		})
		r, after, err := Namespaces(g.st).RecordFunctions(t.Context(), "n", node, Functions{Dialect: "postgres"}, false)
		if floor := far + want.Milliseconds(); err != nil || r.From != floor || after != floor {
			t.Errorf("node %d: from %d, after %d, not %d: %v", node, r.From, after, floor, err)
		}
	}
}

// A namespace that exists has its range; one that comes back keeps it, or has another.
func TestLongRangeAtTheCreation(t *testing.T) {
	g := empty(t, withRollback)
	op, long := Namespaces(g.st), Long{First: 8, MaxTTL: time.Hour}
	if _, err := op.Create(t.Context(), "n", g.l.scheme, &NamespaceOptions{Long: &long}); !errors.Is(err, ErrExists) {
		t.Errorf("a range that it lacks: %v", err)
	}
	ns, err := op.Change(t.Context(), "n", nil, &NamespaceOptions{Long: &long})
	if err != nil || ns.Long != long || ns.Generation != 1 {
		t.Errorf("%+v, %v", ns, err)
	}
	for _, o := range []*NamespaceOptions{nil, {Long: &long}} {
		if again, err := op.Create(t.Context(), "n", g.l.scheme, o); err != nil || again.record != ns.record {
			t.Errorf("as it is: %+v, %v", again, err)
		}
	}
	_, err = op.Delete(t.Context(), "n")
	g.must(err)
	if ns, err := op.Create(t.Context(), "n", g.l.scheme, nil); err != nil || ns.Long != long {
		t.Errorf("it comes back: %+v, %v", ns, err)
	}
	_, err = op.Delete(t.Context(), "n")
	g.must(err)
	ns, err = op.Create(t.Context(), "n", g.l.scheme, &NamespaceOptions{Long: &Long{}})
	if err != nil || ns.Long != (Long{}) {
		t.Errorf("it comes back without: %+v, %v", ns, err)
	}
	if got := (Long{}).String() + "; " + long.String(); got != "no long range; a ttl of at most 1h0m0s from node 8 on" {
		t.Error(got)
	}
}

// A server gives a node of the others while none of the long range is free, and its holder renews
// as that one needs it.
func TestServerGivesAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout, err := snowfence.ParseLayout("time=41,node=4,seq=12,epoch=1999-01-01")
		if err != nil {
			t.Fatal(err)
		}
		s, err := snowfence.NewScheme(layout)
		if err != nil {
			t.Fatal(err)
		}
		st := store.NewMemory()
		op := Namespaces(st)
		o := &NamespaceOptions{Long: &Long{First: 15, MaxTTL: time.Hour}}
		if _, err := op.Create(t.Context(), "n", s, o); err != nil {
			t.Fatal(err)
		}
		keep := func() *Lease {
			t.Helper()
			all, err := Keep(t.Context(), Serve(st, s, nil), "n", s, 1, &Options{TTL: time.Hour, Idle: -1})
			if err != nil {
				t.Fatal(err)
			}
			return all[0]
		}
		is := func(l *Lease, long bool) {
			t.Helper()
			g := l.Status().Grant
			ends, most := time.Until(layout.TimeOf(g.Until)), 16*time.Second
			if long {
				most = time.Hour + time.Second
			}
			if (g.Node == 15) != long || ends < most/2 || ends > most {
				t.Errorf("long %t: %+v, for %v", long, g, ends)
			}
		}
		one := keep()
		defer one.Orphan()
		is(one, true)
		if ttl := time.Duration(one.given.Load()); ttl != time.Hour {
			t.Errorf("the ttl is %v", ttl)
		}
		two := keep() // the range is full
		is(two, false)
		two.Orphan()
		if _, err := op.Restored(t.Context(), "n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(22 * time.Minute) // it renews every third of the hour, and learns of it
		is(one, false)
		for range 10 {
			time.Sleep(29 * time.Second)
			is(one, false)
		}
		time.Sleep(time.Hour)
		three := keep()
		is(three, true)
		three.Orphan()
		fixed := int64(15)
		other := &Options{TTL: time.Hour, Node: &fixed, Guard: true, Label: "another"}
		if _, err := Keep(t.Context(), Serve(st, s, nil), "n", s, 1, other); !errors.Is(err, ErrTaken) {
			t.Errorf("a fixed node that is held: %v", err)
		}
		var reads int
		busy := &scripted{Memory: st, onGet: func(keys []store.Key) error {
			if len(keys) > 1 { // in search of a free node
				reads++
			}
			return nil
		}}
		for range 20 {
			_, err = Serve(busy, s, nil).Acquire(t.Context(), "n", wire.Request{TTL: time.Second, Label: "x"})
			if reads--; err != nil {
				break
			}
		}
		if !errors.Is(err, ErrTaken) || reads != 0 {
			t.Errorf("all others are held: %v after %d reads more", err, reads)
		}
	})
}
