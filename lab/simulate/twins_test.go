package simulate

import "testing"

// Machines are resumed twice, often, with equal randomness and with another
// one. Where the hypervisor tells of it no ID comes twice; where it does
// not, some do, so the runs can show it. Nothing else is wrong in them that
// no lease can see.
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
