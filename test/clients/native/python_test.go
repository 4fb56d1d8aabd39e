package native

import (
	"os"
	"path/filepath"
	"strings"
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

// A server that hands out secrets gives them to programs with a token. IDs
// are encrypted here as there.
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

// Transactions of Django take numbers without gaps, as the page of invoices
// says. Their user may call one function.
func TestPythonDjangoInvoices(t *testing.T) {
	servers.Later(t) // which installs what it needs
	t.Parallel()
	servers.Need(t, "python", debians)
	page, err := os.ReadFile(filepath.Join(root, "docs", "choose", "invoices.md"))
	must(t, err)
	_, code, _ := strings.Cut(string(page), "```python\n")
	code, _, ok := strings.Cut(code, "```")
	if !ok {
		t.Fatal("the page has no code in Python")
	}
	dir := copied(t, filepath.Join("testdata", "django"))
	replace(t, filepath.Join(dir, "invoices.py"), "    # THE PAGE\n", "    "+strings.ReplaceAll(strings.TrimSpace(code),
		"\n", "\n    ")+"\n")
	p := servers.StartPostgres(t)
	name, program := p.NewDatabase(t), servers.Program(t, servers.Snowfence)
	run(t, dir, program+" sequence create invoices --mode strict --store "+p.URL(name), "HOME="+dir)
	p.SQL(t, name, "CREATE ROLE shop LOGIN; GRANT CREATE ON SCHEMA public TO shop")
	p.SQL(t, name, run(t, dir, program+" sql --serial --dialect postgres"))
	p.SQL(t, name, "GRANT EXECUTE ON FUNCTION snowfence_serial(text) TO shop")
	run(t, dir, debians+" invoices.py "+strings.Replace(p.URL(name), "postgres@", "shop@", 1))
}

// The program of the page, and those for frameworks, do what it says.
func TestPythonPage(t *testing.T) {
	links(t, "python.md", "frameworks", "Django.py", "SQLAlchemy.py")
	t.Parallel()
	servers.Need(t, "python", debians)
	url := serve(t, t.TempDir())
	for section, needs := range map[string]string{"Make IDs": "", "Django": "django", "SQLAlchemy": "sqlalchemy"} {
		t.Run(section, func(t *testing.T) {
			if needs != "" {
				servers.Later(t) // which installs them
			}
			t.Parallel()
			dir, program := t.TempDir(), block(t, "python.md", section, url)
			if needs != "" {
				program = framework(t, "python.md", section+".py", url)
			}
			write(t, dir, map[string]string{"main.py": program})
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
