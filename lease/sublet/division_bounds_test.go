package sublet

import (
	"fmt"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/internal/claim"
)

// lending is the nodes 2 and 3 in ticks 10 to 20, for holders of 3 ticks.
// Each step answers with what there is of a node: its ticks, and the
// serials of the first answer and the last.
type lending struct {
	*testing.T
	d       *division
	t       claim.Ticks
	allowed func(node int64) bool
}

func newLending(t *testing.T) *lending {
	l := tests.Must(snowfence.ParseLayout("time=6,node=3,seq=2,epoch=2025-01-01,tick=10ms"))
	tt := claim.Ticks{Layout: l, MaxTick: 63, TTL: 30 * time.Millisecond}
	x := &lending{T: t, t: tt, allowed: func(int64) bool { return true }}
	x.d = divide(snowfence.Grant{Node: 2, Nodes: 2, From: 10, Until: 20}, 0)
	return x
}

func (x *lending) at(tick int64) time.Time { return x.t.Layout.TimeOf(tick) }

func (x *lending) says(i int) string {
	s := x.d.slots[i]
	return fmt.Sprintf("%d: %d-%d #%d.%d", x.d.grant.Node+int64(i), s.from, s.until, s.tenancy, s.serial)
}

func (x *lending) acquire(tick int64) string {
	i := x.d.free(x.t, x.at(tick), x.allowed)
	if i < 0 {
		return "none"
	}
	x.d.begin(i, x.t, x.at(tick), fmt.Sprint("at ", tick), "x")
	return x.says(i)
}

func (x *lending) renew(i int, tick int64) string {
	x.d.renew(i, x.t, x.at(tick), fmt.Sprint("at ", tick))
	return x.says(i)
}

func (x *lending) release(i int, used int64) string {
	x.d.release(i, used)
	return x.says(i)
}

// A sublease begins and ends exactly where the grant, the clock and the one
// before allow it.
func TestBoundsOfSubleases(t *testing.T) {
	type step struct {
		do   func(x *lending) string
		want string
	}
	acquire := func(tick int64, want string) step {
		return step{func(x *lending) string { return x.acquire(tick) }, want}
	}
	renew := func(i int, tick int64, want string) step {
		return step{func(x *lending) string { return x.renew(i, tick) }, want}
	}
	release := func(i int, used int64, want string) step {
		return step{func(x *lending) string { return x.release(i, used) }, want}
	}
	extend := func(from, until int64) step {
		return step{func(x *lending) string {
			x.d.extend(snowfence.Grant{Node: 2, Nodes: 2, From: from, Until: until})
			return ""
		}, ""}
	}
	for name, steps := range map[string][]step{
		"nothing before the grant begins": {acquire(9, "none"), acquire(10, "2: 10-13 #1.2")},
		"nothing after its end":           {acquire(20, "none"), acquire(19, "2: 16-20 #1.2")},
		"not longer than the clock allows": {
			acquire(15, "2: 12-18 #1.2"), acquire(16, "3: 13-19 #3.4"), acquire(17, "none"),
		},
		"a node is free from the end of its sublease on": {
			acquire(10, "2: 10-13 #1.2"), acquire(10, "3: 10-13 #3.4"), acquire(12, "none"),
			acquire(13, "2: 13-16 #5.6"),
		},
		"renewed up to the end of the grant": {
			acquire(10, "2: 10-13 #1.2"), renew(0, 16, "2: 10-19 #1.3"), renew(0, 18, "2: 10-20 #1.4"),
			extend(10, 30), renew(0, 18, "2: 10-21 #1.5"),
		},
		"a clock that went back shortens nothing": {
			acquire(15, "2: 12-18 #1.2"), renew(0, 11, "2: 12-18 #1.3"),
		},
		"a grant that lapsed leaves ticks out": {
			acquire(10, "2: 10-13 #1.2"), extend(40, 50), renew(0, 12, "2: 40-40 #1.3"),
			renew(0, 41, "2: 40-44 #1.4"), acquire(39, "none"), acquire(40, "3: 40-43 #5.6"),
		},
		"a release frees what was not used": {
			acquire(10, "2: 10-13 #1.2"), release(0, 12, "2: 10-12 #0.2"), acquire(11, "3: 10-14 #3.4"),
			acquire(11, "none"), acquire(12, "2: 12-15 #5.6"),
		},
		"a release of more than there is":      {acquire(10, "2: 10-13 #1.2"), release(0, 14, "2: 10-13 #0.2")},
		"a release that frees ticks of before": {acquire(10, "2: 10-13 #1.2"), release(0, 9, "2: 10-10 #0.2")},
		"a release of nothing used":            {acquire(10, "2: 10-13 #1.2"), release(0, 0, "2: 10-10 #0.2")},
		"a release that does not say":          {acquire(10, "2: 10-13 #1.2"), release(0, -1, "2: 10-13 #0.2")},
		"the next node comes before one that was released": {
			acquire(10, "2: 10-13 #1.2"), release(0, 10, "2: 10-10 #0.2"), acquire(10, "3: 10-13 #3.4"),
			acquire(10, "2: 10-13 #5.6"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newLending(t)
			for n, s := range steps {
				if got := s.do(x); got != s.want {
					t.Fatalf("step %d: %q, want %q", n+1, got, s.want)
				}
			}
		})
	}
}

// Only nodes that are allowed are sublet, and they are asked about by their
// numbers.
func TestSubleasesOfAllowedNodes(t *testing.T) {
	x := newLending(t)
	x.allowed = func(node int64) bool { return node == 3 }
	for _, want := range []string{"3: 10-13 #1.2", "none"} {
		if got := x.acquire(10); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A ticket is of the present sublease if it is the last one, or if the last
// one answers an attempt of its holder.
func TestTicketsOfASublease(t *testing.T) {
	x := newLending(t)
	x.acquire(10)
	x.acquire(10)
	x.renew(1, 11) // 3: #3.5
	for _, c := range []struct {
		node, tenancy, serial int64
		attempts              []string
		want                  int
	}{
		{2, 1, 2, nil, 0},
		{3, 3, 5, nil, 1},
		{3, 3, 4, nil, -1}, // the one before
		{3, 3, 4, []string{"at 9", "at 11"}, 1},
		{3, 1, 4, []string{"at 11"}, -1}, // of another holder
		{3, 1, 5, nil, -1},
		{1, 1, 2, nil, -1},
		{4, 3, 5, nil, -1},
	} {
		if got := x.d.holds(c.node, c.tenancy, c.serial, c.attempts); got != c.want {
			t.Errorf("%+v: slot %d", c, got)
		}
	}
	if i := x.d.found([]string{"at 9", "at 11"}); i != 1 {
		t.Errorf("an answer that was lost is found in slot %d", i)
	}
	x.release(1, 10)
	if i := x.d.holds(3, 0, 5, []string{"at 11"}); i != -1 {
		t.Errorf("a ticket without a holder is of slot %d", i)
	}
	if i := x.d.found([]string{"at 11"}); i != -1 {
		t.Errorf("an answer to a holder that released is found in slot %d", i)
	}
}

// A node is held to the end of its sublease, and the grant is given back
// above all of them.
func TestEndOfADivision(t *testing.T) {
	x := newLending(t)
	if end := x.d.end(); end != 10 {
		t.Errorf("the end of nothing is %d", end)
	}
	x.acquire(11)
	x.acquire(10)
	if end := x.d.end(); end != 14 {
		t.Errorf("the end is %d, want 14", end)
	}
	whoever := func(string) bool { return true }
	for tick, want := range map[int64]int64{12: 2, 13: 1, 14: 0} {
		if n := x.d.held(x.t, x.at(tick), whoever); n != want {
			t.Errorf("%d are held in tick %d, want %d", n, tick, want)
		}
	}
	if n := x.d.held(x.t, x.at(12), func(label string) bool { return label != "x" }); n != 0 {
		t.Errorf("%d are held of a label that none has", n)
	}
	x.release(0, -1) // the rest of it is for nobody
	if n, end := x.d.held(x.t, x.at(12), whoever), x.d.end(); n != 2 || end != 14 {
		t.Errorf("%d are held after a release, and the end is %d", n, end)
	}
	x.release(0, 11)
	if n := x.d.held(x.t, x.at(12), whoever); n != 1 {
		t.Errorf("%d are held after a release of what was not used", n)
	}
	for _, g := range []snowfence.Grant{{Node: 2, Nodes: 4}, {Node: 4, Nodes: 2}} {
		if x.d.sameNodes(g) {
			t.Errorf("%+v are the same nodes", g)
		}
	}
	if !x.d.sameNodes(snowfence.Grant{Node: 2, Nodes: 2, From: 40, Until: 50}) {
		t.Error("the same nodes are others")
	}
}
