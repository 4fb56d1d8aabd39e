package simulate

import (
	"context"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

// A store that does not compare is found out, and what is told of it is
// short: few steps, and no faults that do not matter.
func TestCollisionIsFoundAndReduced(t *testing.T) {
	broken := func(s *sim) { s.store.equal = func(_, _ string) bool { return true } }
	ctx := context.Background()
	for seed := range uint64(50) {
		plan := Plan{Seed: seed, Hours: stretch, tamper: broken}
		plan.Trace = true
		_, _, bad, err := Run(ctx, plan)
		tests.NoError(t, err)
		if bad == nil {
			continue
		}
		least := Reduce(ctx, plan)
		if least == nil {
			t.Fatalf("%v: not so when it was run again", bad)
		}
		if len(least.Steps) > len(bad.Steps) || len(least.Steps) == 0 ||
			!strings.Contains(least.Steps[len(least.Steps)-1], "VIOLATION") {
			t.Errorf("%d steps became %d: %q", len(bad.Steps), len(least.Steps), least.Steps)
		}
		t.Logf("%d steps became %d", len(bad.Steps), len(least.Steps))
		return
	}
	t.Error("50 runs on a store that compares nothing, and no collision")
}
