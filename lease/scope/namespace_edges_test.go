package scope

import (
	"math"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// Functions go on after a change of the layout: their node is then none of
// the present one.
func TestFunctionsOfALayoutBefore(t *testing.T) {
	ns, _ := ofLayout(t, regionSpec, 14)
	ns.give(t, 15, 100)
	ns.end(200)
	ns.Layout = must(snowfence.ParseLayout("time=41,node=5,seq=3"))
	if free := ns.Uncovered(); len(free) != 1 || free[0] != (snowfence.NodeRange{Until: 32}) {
		t.Errorf("%+v", free)
	}
	st := &scripted{Memory: store.NewMemory()}
	noError(t, ns.unmarked(t.Context(), st))
	ns.record.Key = store.Key{Namespace: "n", Node: store.NamespaceNode}
	must(ns.write(t.Context(), st))
	must(Namespaces(st).Veto(t.Context(), "n", 15, ""))
	st.listErr = errSilent
	wantErr(t, ns.unmarked(t.Context(), st), errSilent, "vetos that nobody reads")
}

// The secrets of a layout are those of its leases that go on, of whichever
// unit.
func TestKeyOfALayout(t *testing.T) {
	ns, l := ofLayout(t, "key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1", 15)
	lease := ns.Regions[0]
	lease.Key = "own"
	others, ended, before := lease, lease, lease
	others.Owner, others.Key = ownerOthers, "of others"
	ended.Ended, ended.Key = true, "ended"
	before.Layout, before.Key = must(snowfence.ParseLayout("key=3,time=33,node=8,seq=10,cipher=ff1")), "before"
	ns.Since, ns.Regions = 7, []Region{others, ended, before}
	if key := ns.key(l); key != "secrets since generation 7" {
		t.Errorf("%q", key)
	}
	ns.Regions = append(ns.Regions, lease)
	if key := ns.key(l); key != "own" {
		t.Errorf("%q", key)
	}
}

// A layout that comes back after another one is two entries of the history.
func TestHistoryOfALayoutThatCameBack(t *testing.T) {
	ns, l := ofLayout(t, regionSpec, 15)
	first, again := ns.Regions[0].ended(100), ns.Regions[0].ended(300)
	again.From = 200
	ns.Regions = []Region{first, again}
	if all := ns.History(); len(all) != 2 || !all[1].Layout.Equal(l) || all[0].Until != 100 || all[1].From != 200 {
		t.Errorf("%+v", all)
	}
}

// The time of a rollback is after it, and never goes back.
func TestTimeOfARollback(t *testing.T) {
	ns := Namespace{}
	ns.RolledBack = 5000
	for now, want := range map[int64]int64{10: 5000, 5000: 5001} {
		was := ns
		if was.rolledBack(time.UnixMilli(now)); was.RolledBack != want {
			t.Errorf("at %d: %d", now, was.RolledBack)
		}
	}
}

func TestUnitsThatAreRefused(t *testing.T) {
	ns, _ := ofLayout(t, regionSpec, 15)
	for _, ns.Unit = range []int64{math.MinInt64, -1, 0, 3, 32} {
		wantErr(t, ns.inUnits(), fault.ErrInvalid, "a unit of %d nodes", ns.Unit)
	}
	ns.Unit = 0
	r := must(ns.encode())
	if ns := must(decodeNamespace(r)); ns.Unit != 1 {
		t.Errorf("a record without a unit has one of %d nodes", ns.Unit)
	}
	if n := nodeCount(must(snowfence.ParseLayout("time=1,node=63"))); n != 1<<62 {
		t.Errorf("%d nodes", n)
	}
}

// A change of the unit leaves the identity as it is, counts no record of
// before, and goes on after an interruption. What is refused changes
// nothing.
func TestUnitIsChanged(t *testing.T) {
	g := empty(t, withRollback)
	op, ctx := Namespaces(g.st), t.Context()
	was := must(op.Show(ctx, "n"))
	if was.BackfillStopped {
		t.Error("a backfill that nobody allowed is stopped")
	}
	other := must(snowfence.NewScheme(snowfence.MustLayout("time=41,node=10,seq=12,epoch=2025-01-01")))
	for _, s := range []*snowfence.Scheme{nil, other} {
		_, err := op.Change(ctx, "n", s, &NamespaceOptions{Unit: 4, MaxTTL: time.Nanosecond})
		wantErr(t, err, fault.ErrInvalid, "a longest ttl of a nanosecond")
	}
	writes := 0
	g.st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
		if writes++; writes > 1 {
			return silent(len(ws))
		}
		return do(ws)
	}
	wantErr(t, errOf(op.Change(ctx, "n", nil, &NamespaceOptions{Unit: 4})), errSilent, "interrupted")
	g.st.onSwap = nil
	if ns := must(op.Show(ctx, "n")); ns.State != Changing {
		t.Errorf("interrupted: %+v", ns)
	}
	ns := must(op.Change(ctx, "n", nil, &NamespaceOptions{Unit: 4}))
	if ns.Unit != 4 || ns.RolledBack != 0 || ns.Since != ns.Generation || ns.Since == was.Since {
		t.Errorf("%+v", ns.Terms)
	}
}

// A namespace whose store tells more of itself is not written for a program
// with another secret.
func TestAdmissionWithAnotherSecret(t *testing.T) {
	const spec = "key=2,time=33,node=8,seq=10,tick=1s,cipher=ff1"
	g := empty(t, spec, snowfence.GenerateSecret())
	op, ctx := Namespaces(g.st), t.Context()
	noError(t, must(op.Show(ctx, "n")).NoteIdentity(ctx, g.st, "a:-"))
	g.st.id = "a:b"
	other := must(snowfence.NewScheme(g.s.Layout(), snowfence.GenerateSecret()))
	_, _, err := op.Admit(ctx, "n", other, func(Namespace) error { return nil })
	wantErr(t, err, snowfence.ErrKey, "another secret")
}

// A namespace that was moved is not here any more.
func TestNamespaceThatWasMoved(t *testing.T) {
	g := empty(t, withRollback)
	to := store.Place{Store: store.NewMemory(), Name: "to"}
	noError(t, Move(t.Context(), "n", store.Place{Store: g.st, Name: "from"}, to))
	wantErr(t, errOf(Namespaces(g.st).Show(t.Context(), "n")), store.ErrMoved, "it was moved")
	if all := must(Namespaces(g.st).List(t.Context())); len(all) > 0 {
		t.Errorf("%+v", all)
	}
}
