package simulate

import "testing"

// Leases with long ttls beside others make no ID twice, while an operator makes, moves and ends
// their range and the store is rolled back. lab/mutants runs it on broken rules.
func TestLongRange(t *testing.T) {
	runs := max(*seeds, 60)
	if *seeds == 0 && testing.Short() {
		runs = 2
	}
	f := clean(t, runs, func(seed uint64) Plan {
		return Plan{Hours: stretch / 2, long: true, sublets: seed%3 == 1, hostile: seed%4 == 1}
	})
	t.Logf("%d grants, %d of them beyond the ttl of the others, %d renewals, %d IDs, %d changes of the range, "+
		"%d faults", f.Grants, f.Long, f.Renewals, f.IDs, f.Faults[faultLong], f.Injected())
	if f.Long < 10*int64(runs) || f.Faults[faultLong] < int64(runs) {
		t.Error("that is too little to show anything")
	}
}
