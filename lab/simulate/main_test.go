package simulate

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

// Runs make much garbage and keep little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// clean runs the seeds from 1 on with the plans that plan returns, and adds
// up what was seen. It stops at the first seed with a violation. With
// -steps it tells what led to it.
func clean(t *testing.T, seeds uint64, plan func(seed uint64) Plan) (sum Figures) {
	t.Helper()
	for seed := uint64(1); seed <= seeds; seed++ {
		p := plan(seed)
		p.Seed, p.layout, p.Trace = seed, *layout, *trace
		f, _, bad, err := Run(t.Context(), p)
		tests.NoError(t, err)
		if bad != nil {
			t.Fatalf("%v\n%s", bad, strings.Join(bad.Steps, "\n"))
		}
		sum.addFigures(f)
	}
	return sum
}
