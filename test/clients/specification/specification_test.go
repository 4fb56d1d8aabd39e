// Package specification has a reader of IDs in Python that knows
// docs/reference/specification.md only, and runs it on the vectors that the
// page names.
package specification

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

const vectors = "../../../testdata/specification"

func TestPythonReader(t *testing.T) {
	t.Parallel()
	python := servers.Need(t, "python", "python3")[0]
	agree(t, func(folder string) *exec.Cmd {
		return exec.CommandContext(t.Context(), python, "-B", "python/vectors.py", folder)
	})
}

// agree runs a reader on the vectors, and on vectors that are wrong in six
// places.
func agree(t *testing.T, reader func(folder string) *exec.Cmd) {
	t.Helper()
	if out, err := reader(vectors).CombinedOutput(); err != nil || !strings.Contains(string(out), " 0 failed") {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := t.TempDir()
	for name, change := range map[string][2]string{
		"layouts.json": {`"tick_ns": "10000000"`, `"tick_ns": "10000001"`},
		"ids.json":     {`"raw": "`, `"raw": "1`},
		"texts.json":   {`"zbase32": "y"`, `"zbase32": "b"`},
		"ciphers.json": {`"2bbef15201f55f98"`, `"2bbef15201f55f99"`},
		"grants.json":  {`"id": "6412"`, `"id": "6413"`},
		"fields.json":  {`"tagged": "`, `"tagged": "1`},
	} {
		text, err := os.ReadFile(filepath.Join(vectors, name))
		must(t, err)
		wrong := strings.Replace(string(text), change[0], change[1], 1)
		if wrong == string(text) {
			t.Fatalf("%s has no %s", name, change[0])
		}
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(wrong), 0o600))
	}
	out, err := reader(dir).CombinedOutput()
	tests.Fails(t, err, "wrong vectors pass\n%s", out)
	for _, want := range []string{"tick=10ms:", " composed:", "\nzbase32 of 0:", "\nsparx:", ", step 1:", " tagged:"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
