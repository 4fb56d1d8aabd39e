package python

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// program returns the first block of a section of the page, which is a complete program.
func program(t *testing.T, section string) []byte {
	t.Helper()
	page, err := os.ReadFile("../../../docs/start/python.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(page), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("the page has no section %s", section)
	}
	var out []byte
	for line := range strings.Lines(text) {
		switch code, ok := strings.CutPrefix(line, "    "); {
		case ok:
			out = append(out, code...)
		case len(out) > 0 && strings.TrimSpace(line) == "":
			out = append(out, '\n')
		case len(out) > 0:
			return bytes.ReplaceAll(out, []byte(`"http://127.0.0.1:8080"`), []byte("None"))
		}
	}
	return nil
}

// The programs of the page do what it says. Python's versions differ in what Debian has for them.
func TestPage(t *testing.T) {
	t.Parallel()
	python := servers.Need(t, "python", "/usr/bin/python3")[0]
	url := serve(t)
	for section, needs := range map[string]string{"Make IDs": "", "Django": "django", "SQLAlchemy": "sqlalchemy"} {
		t.Run(section, func(t *testing.T) {
			if needs != "" {
				servers.Later(t) // which installs them
			}
			t.Parallel()
			file := filepath.Join(t.TempDir(), "main.py")
			if err := os.WriteFile(file, program(t, section), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Log(run(t, client, url, "env", "PYTHONPATH=.", python, file))
		})
	}
}
