package scope

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

const regionSpec = "time=41,node=4,seq=3,epoch=2025-01-01T00:00:00Z,tick=1ms,first=2"

// ofLayout is a namespace of a layout whose nodes 0 to last can be leased.
func ofLayout(t *testing.T, spec string, last int64) (Namespace, snowfence.Layout) {
	t.Helper()
	l := must(snowfence.ParseLayout(spec))
	ns := Namespace{Name: "n"}
	ns.Terms = Terms{Layout: l, Fingerprint: l.String(), Nodes: snowfence.NodeRange{Until: last + 1}}
	noError(t, ns.begin(l, false, false))
	return ns, l
}

// outline is what a test says of a region.
func outline(r Region) string {
	text := fmt.Sprintf("%s %d-%d x %d-%d @%d", r.Owner, r.Nodes.From, r.Nodes.Until, r.First, r.Last, r.From)
	if r.Ended {
		text += fmt.Sprint("-", r.Until)
	}
	return text
}

func outlines(ns Namespace) (all []string) {
	for _, r := range ns.Regions {
		all = append(all, outline(r))
	}
	return all
}

func (ns *Namespace) give(t *testing.T, node, tick int64) {
	t.Helper()
	l := ns.Layout
	ns.State = Active
	noError(t, ns.recordSQL(node, Functions{Dialect: "postgres"}, false, l.TimeOf(tick)))
}

// Reserved numbers are regions of those who use them, and no two of these
// meet.
func TestRegionsOfReservedNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		backfill int64
		others   bool
		want     []string
	}{
		"none":              {0, false, []string{"leases 0-16 x 2-7 @0"}},
		"others":            {0, true, []string{"leases 0-16 x 2-7 @0", "others 0-16 x 0-1 @0"}},
		"backfill":          {1, false, []string{"leases 0-16 x 2-7 @0", "backfill 0-16 x 0-0 @0"}},
		"both":              {1, true, []string{"leases 0-16 x 2-7 @0", "backfill 0-16 x 0-0 @0", "others 0-16 x 1-1 @0"}},
		"more than it has":  {5, false, []string{"leases 0-16 x 2-7 @0", "backfill 0-16 x 0-1 @0"}},
		"none are left":     {2, true, []string{"leases 0-16 x 2-7 @0", "backfill 0-16 x 0-1 @0"}},
		"and fewer than it": {5, true, []string{"leases 0-16 x 2-7 @0", "backfill 0-16 x 0-1 @0"}},
	} {
		ns, l := ofLayout(t, regionSpec, 15)
		ns.Regions, ns.Backfill, ns.Others = nil, c.backfill, c.others
		if err := ns.begin(l, false, false); err != nil || !slices.Equal(outlines(ns), c.want) {
			t.Errorf("%s: %q, %v; want %q", name, outlines(ns), err, c.want)
		}
	}
}

// Functions get a node of the leases from a tick on, and the other nodes
// stay as they are.
func TestRegionsOfFunctions(t *testing.T) {
	ns, _ := ofLayout(t, regionSpec, 7)
	ns.Backfill = 1
	before := ns
	ns.give(t, 9, 50)
	ns.give(t, 15, 60)
	want := []string{
		"leases 0-9 x 2-7 @0", "leases 10-15 x 2-7 @0", "leases 15-16 x 2-7 @0-60", "functions 15-16 x 2-7 @60",
		"leases 9-10 x 2-7 @0-50", "functions 9-10 x 2-7 @50",
	}
	if !slices.Equal(outlines(ns), want) {
		t.Errorf("%q", outlines(ns))
	}
	if got := outlines(before); len(got) != 1 {
		t.Errorf("the list that was read became %q", got)
	}
	for nodes, want := range map[snowfence.NodeRange]string{
		{From: 0, Until: 9}: "", {From: 8, Until: 10}: "9 to 9", {From: 9, Until: 10}: "9 to 9",
		{From: 10, Until: 15}: "", {From: 10, Until: 16}: "15 to 15", {From: 0, Until: 16}: "9 to 9, 15 to 15",
		{From: 15, Until: 16}: "15 to 15", {From: 3, Until: 3}: "",
	} {
		if got := rangesText(ns.uncovered(nodes, OwnerLeases)); got != want {
			t.Errorf("nodes %v without a region of leases: %q; want %q", nodes, got, want)
		}
	}
	if got := ns.Uncovered(); len(got) != 0 {
		t.Errorf("nodes without a region: %v", got)
	}
	none := ns
	none.Regions = slices.Clone(ns.Regions[1:2])
	if got := rangesText(none.Uncovered()); got != "0 to 9, 15 to 15" {
		t.Errorf("around the others: %q", got)
	}
	// The present layout ends, and functions go on.
	ns.end(100)
	want = []string{
		"leases 0-9 x 2-7 @0-100", "leases 10-15 x 2-7 @0-100", "leases 15-16 x 2-7 @0-60",
		"functions 15-16 x 2-7 @60", "leases 9-10 x 2-7 @0-50", "functions 9-10 x 2-7 @50",
	}
	if !slices.Equal(outlines(ns), want) {
		t.Errorf("ended: %q", outlines(ns))
	}
	if h := ns.History(); len(h) != 1 || outline(h[0]) != "leases 0-16 x 2-7 @0-100" {
		t.Errorf("the history is %+v", h)
	}
	// The next layout has the same bits: only its leasable nodes, if nobody
	// uses the others.
	ns.Start = 100
	refused := ns
	if err := refused.begin(ns.Layout, false, false); !ofFunctions(err) ||
		!strings.HasSuffix(err.Error(), ": 8 to 8, 10 to 14") {
		t.Errorf("nodes are left out without a word: %v", err)
	}
	noError(t, ns.begin(ns.Layout, false, true))
	next := []string{"leases 0-8 x 2-7 @100", "backfill 0-16 x 0-0 @100"}
	if got := outlines(ns)[len(want):]; !slices.Equal(got, next) {
		t.Errorf("after that %q", got)
	}
	if got := rangesText(ns.Uncovered()); got != "8 to 8, 10 to 14" {
		t.Errorf("left out: %s", got)
	}
	ended := ns
	ended.end(150)
	if got := rangesText(ended.Uncovered()); got != "0 to 8, 10 to 14" {
		t.Errorf("what ended leaves %s", got)
	}
	// A leasable node among theirs is refused, with force too.
	ns.Nodes.Until = 10
	ns.end(200)
	ns.Start = 200
	for _, force := range []bool{false, true} {
		with := ns
		if err := with.begin(ns.Regions[0].Layout, force, true); !ofFunctions(err) ||
			!strings.Contains(err.Error(), "retire") {
			t.Errorf("force %t: %v", force, err)
		}
	}
}

// A forced layout meets what it meets, and no backfill goes on below it.
func TestForcedRegions(t *testing.T) {
	ns, l := ofLayout(t, regionSpec, 15)
	ns.Backfill = 1
	ns.Regions = nil
	noError(t, ns.begin(l, false, false))
	ns.end(100)
	ns.Start = 50
	ended := outlines(ns)
	var c *CollisionError
	if err := ns.begin(l, false, false); !errors.As(err, &c) || c.Earlier.Owner != OwnerLeases || c.Later.From != 50 {
		t.Errorf("%v", err)
	}
	if !slices.Equal(outlines(ns), ended) {
		t.Errorf("a refused layout left %q", outlines(ns))
	}
	noError(t, ns.begin(l, true, false))
	want := []string{
		"leases 0-16 x 2-7 @0-100", "others 0-16 x 0-0 @0-100", "leases 0-16 x 2-7 @50",
		"backfill 0-16 x 0-0 @50",
	}
	if !slices.Equal(outlines(ns), want) {
		t.Errorf("%q", outlines(ns))
	}
	if got := outline(ns.layouts()[0]); got != "leases 0-16 x 2-7 @0" || len(ns.layouts()) != 1 {
		t.Errorf("layouts in a row are one: %q", got)
	}
}

// A layout that is proven is not forced, and backfills go on.
func TestForceThatIsNotNeeded(t *testing.T) {
	ns, l := ofLayout(t, regionSpec, 15)
	ns.Regions, ns.Backfill, ns.Others = nil, 1, true
	for ns.Start = range int64(2) {
		ns.end(ns.Start)
		noError(t, ns.begin(l, true, false))
	}
	want := []string{
		"leases 0-16 x 2-7 @0-1", "backfill 0-16 x 0-0 @0-1", "others 0-16 x 1-1 @0-1", "leases 0-16 x 2-7 @1",
		"backfill 0-16 x 0-0 @1", "others 0-16 x 1-1 @1",
	}
	if !slices.Equal(outlines(ns), want) {
		t.Errorf("%q", outlines(ns))
	}
	// Where the numbers of backfills meet an earlier region, it is not
	// begun.
	r := ns.region(l, 2)
	r.First, r.Last = 0, 0
	ns.end(2)
	ns.Start = 2
	noError(t, ns.add(r, false))
	fails(t, ns.begin(l, false, false), "backfills meet: %q", outlines(ns))
}

// A new layout never leaves out nodes that leases had: beside functions,
// and outside of the leasable nodes where there are none.
func TestLayoutBesideLeases(t *testing.T) {
	for _, node := range []int64{3, 12} {
		ns, l := ofLayout(t, regionSpec, 7)
		if node == 3 {
			ns.give(t, 9, 50)
		}
		ns.end(100)
		ns.Start = 100
		hand := ns.region(l, 100)
		hand.Nodes = snowfence.NodeRange{From: node, Until: node + 1}
		noError(t, ns.add(hand.ended(110), false))
		var c *CollisionError
		err := ns.begin(l, false, true)
		if !errors.As(err, &c) || c.Earlier.Owner != OwnerLeases || c.Later.Until != 1<<41 || c.Earlier.Until != 110 {
			t.Errorf("node %d that leases had: %v, %+v", node, err, c)
		}
	}
}

// Force never reaches IDs that are yet to come.
func TestForceStopsAtWhatGoesOn(t *testing.T) {
	ns, l := ofLayout(t, regionSpec, 7)
	ns.give(t, 9, 50)
	r := ns.region(l, 10)
	r.Nodes = snowfence.NodeRange{From: 9, Until: 10}
	r.From = 60
	with := ns
	if err := with.add(r, true); !ofFunctions(err) {
		t.Errorf("functions that go on: %v", err)
	}
	with.each(func(q Region) []Region {
		if q.Owner == ownerFunctions {
			q = q.ended(100)
		}
		return []Region{q}
	})
	wantErr(t, with.add(r, true), nil, "functions that ended")
	back := ns.region(l, 0)
	back.Owner, back.First, back.Last = ownerBackfill, 0, 0
	noError(t, ns.add(back, false))
	ns.end(20)
	fails(t, ns.add(back, true), "a backfill goes on in ticks that ended")
	count := len(ns.Regions)
	over, _ := ofLayout(t, regionSpec, 7)
	over.end(20)
	bad := over.region(l, 30)
	bad.Nodes.Until = 17
	if err := over.add(bad, true); err == nil || len(over.Regions) != 1 {
		t.Errorf("nodes that the layout lacks: %v", err)
	}
	back.From = back.Until
	if err := ns.add(back, false); err != nil || len(ns.Regions) != count {
		t.Errorf("a region without a tick: %v", err)
	}
	if r := ns.Regions[0].ended(1 << 60); r.Until != ns.Regions[0].Until || !r.Ended {
		t.Errorf("ended after its end: %+v", r)
	}
}

// What encrypted layouts made is compared where they have one secret.
func TestEncryptedRegions(t *testing.T) {
	l := must(snowfence.ParseLayout("randflake"))
	ns := Namespace{Name: "n"}
	ns.Terms = Terms{Layout: l, Fingerprint: "a", Nodes: snowfence.NodeRange{Until: 10}, Since: 1}
	noError(t, ns.begin(l, false, false))
	ns.end(100)
	ns.Start = 100
	same := ns
	wantErr(t, same.begin(l, false, false), nil, "later ticks of one secret")
	other := ns
	other.Fingerprint = "b"
	wantErr(t, other.begin(l, false, false), snowfence.ErrUnproven, "another secret")
	if err := other.begin(l, true, false); err != nil {
		t.Errorf("forced: %q, %v", outlines(other), err)
	}
	if n := len(other.layouts()); n != 2 || len(other.History()) != 1 {
		t.Errorf("%d layouts", n)
	}
	// A layout with numbers of secrets begins them anew each time.
	ns.Fingerprint, ns.Since = ns.Layout.String(), 2
	one := ns.key(l)
	ns.Since = 3
	if two := ns.key(l); one == two || one == "" {
		t.Errorf("the secrets of two layouts are %q and %q", one, two)
	}
}

// A record is as long as a store can keep, and says so before.
func TestRegionsFitIntoARecord(t *testing.T) {
	ns, l := ofLayout(t, regionSpec, 7)
	at := func(i int) Region {
		r := ns.region(l, int64(i)).ended(int64(i) + 1)
		return r
	}
	ns.Regions = nil
	for i := range maxRegions - 1 {
		ns.Regions = append(ns.Regions, at(i))
	}
	noError(t, ns.add(at(maxRegions-1), false))
	fails(t, ns.add(at(maxRegions), false), "one more")
	long := Namespace{Regions: []Region{at(0)}}
	long.Regions[0].Key = "x"
	specs, stored := storedRegions(long.Regions)
	data := must(json.Marshal([]any{specs, stored}))
	for more, ok := range map[int]bool{0: true, 1: false} {
		long.Regions[0].Key = strings.Repeat("x", 1+maxRegionBytes-len(data)+more)
		if err := long.fits(); (err == nil) != ok {
			t.Errorf("%d bytes more than fit: %v", more, err)
		}
	}
	layouts := Namespace{}
	for i := range maxLayouts + 1 {
		r := at(i)
		r.Layout.First = 1
		r.Layout.Epoch = r.Layout.Epoch.AddDate(0, 0, i)
		layouts.Regions = append(layouts.Regions, r)
		if err := layouts.fits(); (err == nil) != (i < maxLayouts) {
			t.Errorf("%d layouts: %v", i+1, err)
		}
	}
}

// A layout goes on while any node of it does, whichever region comes first.
func TestLayoutsGoOnWithTheirLastNode(t *testing.T) {
	ns, _ := ofLayout(t, regionSpec, 7)
	ns.Nodes.From = 2
	ns.give(t, 1, 50)
	ns.give(t, 0, 60)
	if h := ns.History(); len(h) != 0 || !ns.Regions[0].Ended {
		t.Errorf("%+v of %q", h, outlines(ns))
	}
	ns.end(100)
	if h := ns.History(); len(h) != 1 || outline(h[0]) != "leases 0-16 x 2-7 @0-100" {
		t.Errorf("ended: %+v", h)
	}
}

// A region of a record comes back as it was, and a damaged one is an error.
func TestStoredRegions(t *testing.T) {
	ns, _ := ofLayout(t, regionSpec, 7)
	ns.give(t, 9, 50)
	specs, stored := storedRegions(ns.Regions)
	got, err := readRegions(specs, stored)
	if err != nil || len(specs) != 1 || !slices.EqualFunc(got, ns.Regions, func(a, b Region) bool {
		return outline(a) == outline(b) && a.Layout.Equal(b.Layout) && (a.Functions == nil) == (b.Functions == nil)
	}) {
		t.Errorf("%q, %+v, %v", specs, got, err)
	}
	for _, index := range []int{-1, 1} {
		stored[0].Layout = index
		fails(t, errOf(readRegions(specs, stored)), "a region of layout %d of 1", index)
	}
	fails(t, errOf(readRegions([]string{"x"}, nil)), "a layout that cannot be read")
}

func TestNamesOfDatabases(t *testing.T) {
	for want, f := range map[string]Functions{
		"mysql": {Dialect: "mysql"}, "mysql, orders": {Dialect: "mysql", Label: "orders"},
	} {
		if got := f.database(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// fails reports a call without an error.
var fails = tests.Fails

// says reports an error without a text, and a call without an error.
var says = tests.Says

// A store without an identity may have lost counts, and nobody knows.
func TestCountsOfAnUnknownStore(t *testing.T) {
	ns := Namespace{}
	ns.Identity, ns.ledger.Identity = "one:1", "one:1"
	ns.identified("")
	if ns.identified("two:1"); ns.ledger.Identity != "" || ns.Identity != "two:1" {
		t.Errorf("%+v", ns)
	}
}
