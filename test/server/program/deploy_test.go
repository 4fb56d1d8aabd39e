package program

import (
	"os/exec"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// The alert rules are rules, and fire when they should, by Prometheus's own
// tool.
func TestAlertRules(t *testing.T) {
	promtool := servers.Need(t, "prometheus", "promtool")[0]
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = "../../../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
