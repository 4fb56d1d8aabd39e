package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// The wheel and the sdist install from their files into empty environments, without a network, and
// five lines make IDs.
func TestPackages(t *testing.T) {
	servers.Later(t) // which installs what builds them
	t.Parallel()
	python := servers.Need(t, "python", "/usr/bin/python3")[0]
	url, files := serve(t), t.TempDir()
	script := exec.CommandContext(t.Context(), "scripts/python.sh", files)
	script.Dir = "../../.."
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, pattern := range []string{"snowfence-*.whl", "snowfence-*.tar.gz"} {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			found, err := filepath.Glob(filepath.Join(files, pattern))
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			dir := t.TempDir()
			run(t, dir, url, python, "-m", "venv", "--system-site-packages", "venv") // setuptools builds the sdist
			run(t, dir, url, "venv/bin/pip", "install", "--no-index", "--no-build-isolation", "--no-deps", found[0])
			if err := os.WriteFile(filepath.Join(dir, "main.py"), program(t, "Make IDs"), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Log(run(t, dir, url, "venv/bin/python", "main.py"))
		})
	}
}
