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
	for seed := range uint64(50) {
		_, _, bad, err := Run(context.Background(), Plan{Seed: seed, Hours: stretch, Trace: true, tamper: broken})
		tests.NoError(t, err)
		if bad == nil {
			continue
		}
		if n := len(bad.Steps); n == 0 || !strings.Contains(bad.Steps[n-1], "VIOLATION") {
			t.Errorf("%q", bad.Steps)
		}
		return
	}
	t.Error("50 runs on a store that compares nothing, and no collision")
}
