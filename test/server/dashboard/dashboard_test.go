// Package dashboard tests the page of the server: in a real browser, and
// that what is built in is what its sources give.
package dashboard

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

// web is where the sources of the page are.
const web = "../../../cmd/internal/dashboard/web"

// tools returns the paths of programs, and installs the page's own tools
// from its lock file where that was not done.
func tools(t *testing.T, programs ...string) []string {
	t.Helper()
	paths := servers.Need(t, "dashboard", append(programs, "npm")...)
	lock, err := os.ReadFile(filepath.Join(web, "package-lock.json"))
	must(t, err)
	stamp := filepath.Join(web, "node_modules", ".installed")
	if installed, err := os.ReadFile(stamp); err == nil && bytes.Equal(installed, lock) {
		return paths
	}
	run(t, paths[len(programs)], nil, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	must(t, os.WriteFile(stamp, lock, 0o644))
	return paths
}

// run runs a program in the folder of the page, and returns what it wrote.
func run(t *testing.T, program string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = web, append(os.Environ(), env...)
	return tests.Run(t, cmd)
}

// The files that are built into the program are those that its sources
// give: "make gen" makes them.
func TestBuiltFilesAreOfTheirSources(t *testing.T) {
	paths := tools(t, "node")
	fresh := t.TempDir()
	run(t, paths[0], nil, "node_modules/vite/bin/vite.js", "build", "--outDir", fresh, "--emptyOutDir")
	built, want := files(t, filepath.Join(web, "dist")), files(t, fresh)
	for name := range want {
		if built[name] != want[name] {
			t.Errorf("%s is not what the sources give: make gen", name)
		}
	}
	for name := range built {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is left over: make gen", name)
		}
	}
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all[name] = string(body)
		return err
	})
	must(t, err)
	return all
}

// The page's main paths in Chromium, on a server over a store in memory
// that can be hurt.
func TestInChromium(t *testing.T) {
	paths := tools(t, "node", "chromium")
	rig := filepath.Join(t.TempDir(), "rig")
	tests.Run(t, exec.CommandContext(t.Context(), "go", "test", "-c", "-o", rig,
		"github.com/snowfence/snowfence/cmd/internal/dashboard/rig"))
	env := []string{"RIG=" + rig, "CHROMIUM=" + paths[1]}
	if !testing.Short() {
		env = append(env, "LONG=1")
	}
	scripts, err := filepath.Glob(filepath.Join(web, "test", "*.test.js"))
	if err != nil || len(scripts) == 0 {
		t.Fatal("no tests of the page: ", err)
	}
	args := []string{"--test", "--test-reporter=spec"}
	for _, s := range scripts {
		args = append(args, "test/"+filepath.Base(s))
	}
	out := run(t, paths[0], env, args...)
	if !strings.Contains(out, "fail 0") || !strings.Contains(out, "skipped 0") {
		t.Errorf("not everything ran:\n%s", out)
	}
}
