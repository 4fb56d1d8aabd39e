package program

import (
	"os/exec"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// The alert rules are rules, and fire when they should, by Prometheus's own
// tool.
func TestAlertRules(t *testing.T) {
	promtool := servers.Need(t, "prometheus", "promtool")[0]
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = "../../../deploy/prometheus"
		tests.Run(t, cmd)
	}
}
