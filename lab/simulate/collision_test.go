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
