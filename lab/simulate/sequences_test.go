package simulate

import (
	"strings"
	"testing"
)

// TestSequenceSeeds stops at the first seed in which a number comes twice or out of order:
// lab/mutants runs it on broken rules. With -steps it tells what led to it.
func TestSequenceSeeds(t *testing.T) {
	var total Figures
	for n := range max(*seeds, 1) {
		f, _, bad, err := Run(t.Context(), Plan{Seed: n + 1, Hours: countingStretch, sequences: true, Trace: *trace})
		if err != nil {
			t.Fatal(err)
		}
		if bad != nil {
			t.Fatalf("%v\n%s", bad, strings.Join(bad.Steps, "\n"))
		}
		total.add(f)
	}
	t.Logf("%d takes, %d numbers, %d of them twice where no program can see it, %d calls, %d faults, in %v",
		total.Takes, total.Numbers, total.Repeated, total.Calls, total.Injected(), total.Virtual)
}
