//go:build linux

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// scrape reads the metrics, as Prometheus would each second.
func (d *day) scrape() {
	now := map[string]string{`up{job="snowfence",instance="server"}`: "0"}
	text, ok := strings.CutPrefix(d.ask("/metrics"), "200 ")
	if ok {
		now[`up{job="snowfence",instance="server"}`] = "1"
	}
	for line := range strings.Lines(text) {
		i := strings.LastIndexByte(line, ' ')
		if !ok || i < 0 || !strings.HasPrefix(line, "snowfence_") {
			continue
		}
		name, labels, _ := strings.Cut(line[:i], "{")
		now[name+`{job="snowfence",instance="server",`+strings.TrimSuffix(labels, "}")+"}"] = strings.TrimSpace(line[i:])
	}
	d.scrapes = append(d.scrapes, now)
}

var raisedAlert = regexp.MustCompile(`alertname="?(\w+)`)

// alerts returns the alerts of our rules whose condition held at the last
// of some scrapes, by Prometheus's own tool: what is expected is nothing,
// and it says what it has got.
func alerts(t testing.TB, scrapes []map[string]string) []string {
	t.Helper()
	promtool := servers.Need(t, "prometheus", "promtool")[0]
	rules, err := filepath.Abs("../../../deploy/prometheus/alerts.yaml")
	must(t, err)
	series := map[string][]string{}
	for i, now := range scrapes {
		for name, value := range now {
			for len(series[name]) < i {
				series[name] = append(series[name], "_")
			}
			series[name] = append(series[name], value)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files: [%q]\nevaluation_interval: 1s\ntests:\n- interval: 1s\n  input_series:\n", rules)
	for name, values := range series {
		fmt.Fprintf(&b, "  - {series: '%s', values: '%s'}\n", name, strings.Join(values, " "))
	}
	fmt.Fprintf(&b, "  promql_expr_test: [{expr: count by (alertname) (ALERTS), eval_time: %ds}]\n", len(scrapes)-1)
	file := filepath.Join(tempDir(t), "alerts.yaml")
	must(t, os.WriteFile(file, []byte(b.String()), 0o600))
	out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput()
	var names []string
	for _, m := range raisedAlert.FindAllStringSubmatch(string(out), -1) {
		names = append(names, m[1])
	}
	if err != nil && names == nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
