package native

import (
	"path/filepath"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// debians is the Python for which Debian has packages.
const debians = "/usr/bin/python3"

func TestPython(t *testing.T) {
	t.Parallel()
	python := servers.Need(t, "python", "python3")[0]
	run(t, clients+"/python", python+" -m unittest tests.test_client", "SNOWFENCE_SERVER="+serve(t, t.TempDir()))
}

// A server that hands out secrets gives them to programs with a token. IDs are
// encrypted here as there.
func TestPythonEncrypted(t *testing.T) {
	t.Parallel()
	python := servers.Need(t, "python", "python3")[0]
	run(t, clients+"/python", python+" -m unittest tests.test_encrypted", secretive(t)...)
}

// DEFAULT_AUTO_FIELD gives IDs to models and through tables, and the page's
// serializer writes texts.
func TestPythonDjango(t *testing.T) {
	servers.Later(t) // which installs what it needs
	t.Parallel()
	servers.Need(t, "python", debians)
	run(t, clients+"/python", debians+" -m unittest tests.test_django", "SNOWFENCE_SERVER="+serve(t, t.TempDir()))
}

// The programs of the page do what it says.
func TestPythonPage(t *testing.T) {
	t.Parallel()
	servers.Need(t, "python", debians)
	url := serve(t, t.TempDir())
	for section, needs := range map[string]string{"Make IDs": "", "Django": "django", "SQLAlchemy": "sqlalchemy"} {
		t.Run(section, func(t *testing.T) {
			if needs != "" {
				servers.Later(t) // which installs them
			}
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, map[string]string{"main.py": block(t, "python.md", section, url)})
			t.Log(run(t, dir, debians+" main.py", "PYTHONPATH="+absolute(t, clients+"/python")))
		})
	}
}

// The wheel and the sdist install from their files into empty environments,
// without a network, and the lines of the page make IDs.
func TestPythonPackages(t *testing.T) {
	servers.Later(t) // which installs what builds them
	t.Parallel()
	servers.Need(t, "python", debians)
	url, files := serve(t, t.TempDir()), t.TempDir()
	run(t, root, "scripts/python.sh "+files)
	for _, pattern := range []string{"snowfence-*.whl", "snowfence-*.tar.gz"} {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run(t, dir, debians+" -m venv --system-site-packages venv") // setuptools builds the sdist
			run(t, dir, "venv/bin/pip install --no-index --no-build-isolation --no-deps "+filepath.Join(files, pattern))
			write(t, dir, map[string]string{"main.py": block(t, "python.md", "Make IDs", url)})
			t.Log(run(t, dir, "venv/bin/python main.py"))
		})
	}
}

// Types are complete.
func TestPythonTypes(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	servers.Need(t, "mypy", "mypy")
	line := "mypy --strict --exclude django.py --cache-dir=" + t.TempDir() + " snowfence" // Django has no types
	run(t, clients+"/python", line)
}
