package simulate

import "testing"

// Leases with long ttls beside others make no ID twice, while an operator makes, moves and ends
// their range and the store is rolled back. lab/mutants runs it on broken rules.
func TestLongRange(t *testing.T) {
	runs := max(*seeds, 60)
	if *seeds == 0 && testing.Short() {
		runs = 2
	}
	var f Figures
	for n := range runs {
		p := Plan{Seed: n + 1, Hours: stretch / 2, long: true, layout: *layout, Trace: *trace}
		p.sublets, p.hostile = n%3 == 0, n%4 == 0
		one, _, bad, err := Run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if bad != nil {
			if *trace {
				for _, line := range bad.Steps {
					t.Log(line)
				}
			}
			t.Fatal(bad)
		}
		f.add(one)
	}
	t.Logf("%d grants, %d of them beyond the ttl of the others, %d renewals, %d IDs, %d changes of the range, "+
		"%d faults", f.Grants, f.Long, f.Renewals, f.IDs, f.Faults[faultLong], f.Injected())
	if f.Long < 10*int64(runs) || f.Faults[faultLong] < int64(runs) {
		t.Error("that is too little to show anything")
	}
}
