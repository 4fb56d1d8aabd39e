package release

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

// firstMatch returns what a pattern's group finds in a file of the
// repository, split at commas and spaces.
func firstMatch(t *testing.T, file, pattern string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, file))
	must(t, err)
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s has no %s", file, pattern)
	}
	return strings.FieldsFunc(string(found[1]), func(r rune) bool { return strings.ContainsRune(`, "`, r) })
}

// At night, every part of make prove runs.
func TestTheNightRunsAllParts(t *testing.T) {
	want := firstMatch(t, "scripts/prove.sh", `(?m)^parts=\((.*)\)$`)
	if got := firstMatch(t, ".github/workflows/prove.yml", `part: \[(.*)\]`); !slices.Equal(got, want) {
		t.Errorf("the workflow runs %v, make prove %v", got, want)
	}
}

// Dependabot looks for new versions of each module's requirements.
func TestDependabotKnowsEachModule(t *testing.T) {
	var want []string
	err := filepath.WalkDir(repository, func(path string, e os.DirEntry, err error) error {
		foreign := strings.Contains(path, "node_modules") || strings.Contains(path, "testdata")
		if err != nil || e.Name() != "go.mod" || foreign {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "require") {
			dir, _ := filepath.Rel(repository, filepath.Dir(path))
			want = append(want, "/"+filepath.ToSlash(dir))
		}
		return err
	})
	must(t, err)
	if got := firstMatch(t, ".github/dependabot.yml", `package-ecosystem: gomod\n    directories: \[(.*)\]`); !slices.Equal(got, want) {
		t.Errorf("dependabot looks at %v, want %v", got, want)
	}
}

// A tag of an action can be moved to other code. A digest cannot;
// Dependabot raises both.
func TestActionsAreByDigest(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repository, ".github/workflows/*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	pinned := regexp.MustCompile(`uses: [a-z/-]+@[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); strings.Contains(line, "uses:") && !pinned.MatchString(line) {
				t.Errorf("%s: %s", file, line)
			}
		}
	}
}

// What a workflow runs can be tried here: a verb of the Makefile, or a
// script.
func TestWorkflowsCallVerbsThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	must(t, err)
	files, err := filepath.Glob(filepath.Join(repository, ".github/workflows/*.yml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d workflows, %v", len(files), err)
	}
	calls := regexp.MustCompile(`(?m)^ +(?:- run: |run: )?(?:make ([a-z-]+)|((?:scripts/|\.ci/)\S+))`)
	seen := 0
	for _, file := range files {
		workflow, err := os.ReadFile(file)
		must(t, err)
		for _, call := range calls.FindAllStringSubmatch(string(workflow), -1) {
			seen++
			if verb := call[1]; verb != "" && !regexp.MustCompile(`(?m)^`+verb+`: `).Match(text) {
				t.Errorf("%s calls make %s, which the Makefile has not", file, verb)
			}
			if script := call[2]; script != "" {
				tests.WantErr(t, tests.ErrOf(os.Stat(filepath.Join(repository, script))), nil, "%s", file)
			}
		}
	}
	if seen < 5 {
		t.Errorf("the workflows call only %d verbs", seen)
	}
}

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
