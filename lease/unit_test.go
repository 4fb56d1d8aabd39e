package lease_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// inUnits returns a store with the namespace default of 16 nodes in units.
func inUnits(t *testing.T, unit int64) (*store.Memory, *snowfence.Scheme) {
	t.Helper()
	st, s := store.NewMemory(), newScheme(t, "time=41,node=4,seq=3,epoch=1999-01-01,tick=1ms")
	o := &scope.NamespaceOptions{Unit: unit}
	must(scope.Namespaces(st).Create(t.Context(), "default", s, o))
	return st, s
}

// Units are powers of two that the layout has, and the leasable nodes are
// whole ones.
func TestUnitsOfANamespace(t *testing.T) {
	st, s := inUnits(t, 4)
	op := scope.Namespaces(st)
	for name, o := range map[string]scope.NamespaceOptions{
		"no power of two": {Unit: 3},
		"negative":        {Unit: -4},
		"too large":       {Unit: 32},
		"a part of one":   {Unit: 4, Nodes: snowfence.NodeRange{From: 2, Until: 8}},
		"and at the end":  {Unit: 4, Nodes: snowfence.NodeRange{From: 4, Until: 9}},
	} {
		wantErr(t, errOf(op.Create(t.Context(), "other", s, &o)), lease.ErrInvalid, "%s: created", name)
		wantErr(t, errOf(op.Change(t.Context(), "default", nil, &o)), lease.ErrInvalid, "%s: changed", name)
		smaller := newScheme(t, "time=41,node=1,seq=3,epoch=1999-01-01,tick=1ms")
		wantErr(t, errOf(op.Change(t.Context(), "default", smaller, nil)), lease.ErrInvalid,
			"a layout with fewer nodes")
	}
	_, err := lease.Open(t.Context(), st, "default", s, &lease.Options{Node: new(int64(9))})
	tests.Says(t, err, "all nodes 8 to 11 of it", "a node inside a unit")
	o := &scope.NamespaceOptions{Unit: 8}
	wantErr(t, errOf(op.Create(t.Context(), "default", s, o)), lease.ErrExists, "created with another unit")
	before := must(op.Show(t.Context(), "default"))
	if ns, err := op.Change(t.Context(), "default", nil, &scope.NamespaceOptions{Unit: 4}); err != nil ||
		ns.Generation != before.Generation || ns.Unit != 4 {
		t.Errorf("the unit that it has: %+v, %v", ns, err)
	}
}

// A node's veto is its unit's, so another unit waits until it is lifted.
func TestUnitStaysWhileRecordsSayMore(t *testing.T) {
	st, s := inUnits(t, 4)
	op := scope.Namespaces(st)
	r, err := op.Veto(t.Context(), "default", 6, "broken")
	if err != nil || r.Node != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	node := int64(4)
	o := &lease.Options{Node: &node}
	wantErr(t, errOf(lease.Open(t.Context(), st, "default", s, o)), lease.ErrVetoed, "a unit with a veto")
	to := &scope.NamespaceOptions{Unit: 1}
	wantErr(t, errOf(op.Change(t.Context(), "default", nil, to)), lease.ErrRefused, "with a veto")
	must(op.Veto(t.Context(), "default", 5, ""))
	fewer := &scope.NamespaceOptions{Nodes: snowfence.NodeRange{Until: 8}}
	must(op.Change(t.Context(), "default", nil, fewer))
	f := scope.Functions{Dialect: "postgres"}
	if _, _, err := op.RecordFunctions(t.Context(), "default", 9, f, false); err != nil {
		t.Fatal(err)
	}
	if rs := records(t, st); rs[len(rs)-1].Node != 8 || rs[len(rs)-1].Veto == "" {
		t.Errorf("functions in node 9: %+v", rs)
	}
	for _, node := range []int64{8, 9} {
		fails(t, errOf(lease.Open(t.Context(), st, "default", s, &lease.Options{Node: &node})),
			"node %d can be leased, and functions have node 9", node)
	}
	must(op.Veto(t.Context(), "default", 8, "")) // of the unit, and not of node 9
	wantErr(t, errOf(op.Change(t.Context(), "default", nil, to)), lease.ErrRefused, "with functions")
	must(op.RetireFunctions(t.Context(), "default", 9))
	if ns, err := op.Change(t.Context(), "default", nil, to); err != nil || ns.Unit != 1 {
		t.Errorf("without: %+v, %v", ns, err)
	}
}

// Whatever the units were, no ID comes twice: leases come, go and are
// killed, clocks are off, and an operator changes the unit and restores
// nodes.
func TestUnitsRepeatNoID(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			in2026()
			chance := rand.New(rand.NewPCG(seed, 1))
			st, s := inUnits(t, 1)
			op := scope.Namespaces(st)
			made := map[snowfence.ID]bool{}
			var live []*snowfence.Generator
			var leases []*lease.Lease
			changes := 0
			for range 600 {
				switch chance.IntN(9) {
				case 0, 1, 2:
					off := time.Duration(chance.Int64N(int64(4*time.Second))) - 2*time.Second
					start := time.Now()
					clock := func() (time.Time, time.Duration) { return time.Now().Add(off), time.Since(start) }
					o := &lease.Options{Nodes: 1 << chance.IntN(3), TTL: time.Second, Time: clock}
					l, err := lease.Open(t.Context(), st, "default", s, o)
					if err != nil {
						continue // all are taken
					}
					g, err := l.Generator(snowfence.Config{Time: o.Time, MaxWait: time.Millisecond})
					if err != nil {
						_ = l.Close()
						continue
					}
					live, leases = append(live, g), append(leases, l)
				case 3:
					if len(live) > 0 {
						_ = live[0].Close()
						live, leases = live[1:], leases[1:]
					}
				case 4:
					if len(live) > 0 {
						leases[0].Orphan()
					}
				case 5:
					if chance.IntN(3) == 0 {
						must(op.Change(t.Context(), "default", nil, &scope.NamespaceOptions{Unit: 1 << chance.IntN(4)}))
						changes++
					}
				case 6:
					time.Sleep(time.Duration(chance.Int64N(int64(2 * time.Second))))
				default:
					time.Sleep(time.Duration(chance.Int64N(int64(20 * time.Millisecond))))
				}
				for _, g := range live {
					for range 3 {
						id, err := g.TryNext()
						if err != nil {
							break
						}
						if made[id] {
							t.Fatalf("seed %d: ID %d twice", seed, id)
						}
						made[id] = true
					}
				}
			}
			for _, g := range live {
				_ = g.Close()
			}
			if len(made) < 500 || changes < 5 {
				t.Errorf("seed %d: %d IDs and %d changes are no test", seed, len(made), changes)
			}
		})
	}
}
