package release

import "testing"

// The Helm chart and the program in it have the number of the release.
func TestChartHasTheVersion(t *testing.T) {
	_, version, err := Modules(repository)
	must(t, err)
	for _, field := range []string{"version", "appVersion"} {
		if got := firstMatch(t, "deploy/chart/snowfence/Chart.yaml", `(?m)^`+field+`: (.*)$`)[0]; "v"+got != version {
			t.Errorf("the chart's %s is %s, go.work has %s", field, got, version)
		}
	}
}
