package simulate

import (
	"context"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

// A store that does not compare is found out, with what led to it.
func TestCollisionIsFound(t *testing.T) {
	broken := func(s *sim) { s.store.equal = func(_, _ string) bool { return true } }
	_, _, bad, err := Run(context.Background(), Plan{Seed: 5, Hours: stretch, Trace: true, tamper: broken})
	tests.NoError(t, err)
	if bad == nil || !strings.Contains(bad.What, "two grants of node 0 overlap") ||
		!strings.Contains(strings.Join(bad.Steps, "\n"), "VIOLATION") {
		t.Fatalf("on a store that compares nothing: %v", bad)
	}
}

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

// TestSequenceSeeds stops at the first seed in which a number comes twice
// or out of order: lab/mutants runs it on broken rules.
func TestSequenceSeeds(t *testing.T) {
	total := clean(t, max(*seeds, 1), func(uint64) Plan {
		return Plan{Hours: countingStretch, sequences: true}
	})
	t.Logf("%d takes, %d numbers, %d of them twice where no program can see it, %d calls, %d faults, in %v",
		total.Takes, total.Numbers, total.Repeated, total.Calls, total.Injected(), total.Virtual)
}
