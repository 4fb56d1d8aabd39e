package simulate

import "testing"

// Machines are resumed twice from one snapshot, with equal or different
// randomness. If the hypervisor tells them, no ID repeats. If it does not,
// some IDs do repeat, so these runs are able to show a repeat. There are no
// other faults that a lease cannot see.
func TestCopiedMachines(t *testing.T) {
	runs := uint64(60)
	if testing.Short() {
		runs = 4
	}
	for _, tells := range []bool{true, false} {
		f := clean(t, max(*seeds, runs), func(seed uint64) Plan {
			return Plan{Hours: stretch / 4, tamper: func(s *sim) {
				s.tells, s.equal = tells, seed%4 != 1
				s.rates[faultTwins] *= 20 // none where there are lessors
				s.rates[faultSetBack], s.rates[faultVanished] = 0, 0
			}}
		})
		t.Logf("told %v: %d machines resumed twice, %d grants, %d IDs, %d of them twice", tells, f.Faults[faultTwins],
			f.Grants, f.IDs, f.Unseen)
		if f.Faults[faultTwins] < 5*int64(runs) || (f.Unseen > 0) == tells {
			t.Error("that is too few machines, or not as many IDs twice as it must be")
		}
	}
}
