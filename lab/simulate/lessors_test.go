package simulate

import "testing"

// Lessors and their holders make no ID twice, in namespaces with a unit.
// lab/mutants runs it on broken rules.
func TestSublets(t *testing.T) {
	runs := max(*seeds, 60)
	if *seeds == 0 && testing.Short() {
		runs = 10
	}
	f := clean(t, runs, func(seed uint64) Plan {
		return Plan{Hours: stretch / 2, sublets: true, blocks: *blocks, hostile: seed%4 == 1}
	})
	t.Logf("%d runs of %v, %d grants, %d of them subleases, %d renewals, %d calls, %d IDs, %d of them in "+
		"subleases, %d where no lease can see it, %d faults", f.Seeds, f.Virtual, f.Grants, f.Subleases, f.Renewals, f.Calls,
		f.IDs, f.Sublet, f.Unseen, f.Injected())
	for k, n := range f.Faults {
		t.Logf("%d %v", n, Fault(k))
	}
	if f.Subleases < 10*int64(runs) {
		t.Error("so few subleases show nothing")
	}
}
