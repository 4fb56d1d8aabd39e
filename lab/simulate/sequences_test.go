package simulate

import "testing"

// TestSequenceSeeds stops at the first seed in which a number comes twice
// or out of order: lab/mutants runs it on broken rules.
func TestSequenceSeeds(t *testing.T) {
	total := clean(t, max(*seeds, 1), func(uint64) Plan {
		return Plan{Hours: countingStretch, sequences: true}
	})
	t.Logf("%d takes, %d numbers, %d of them twice where no program can see it, %d calls, %d faults, in %v",
		total.Takes, total.Numbers, total.Repeated, total.Calls, total.Injected(), total.Virtual)
}
