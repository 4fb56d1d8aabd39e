//go:build linux

package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

// TestReadOnlyFile starts programs on a file that cannot be written,
// because its file system is mounted read-only: they end at once and say
// why.
func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "16m", func(*disk) {})
	path := filepath.Join(d.dir, "ids.db")
	made := launch(t, "before", nil, snowfencePath(t), "new", "-n", "10", "--store", "sqlite:"+path)
	<-made.gone
	if len(made.ids) != 10 {
		t.Fatalf("%d IDs: %s", len(made.ids), last(made.log, 5))
	}
	d.readOnly(t)
	for name, path := range map[string]string{"there": path, "not there": filepath.Join(d.dir, "other.db")} {
		w := launch(t, name, nil, snowfencePath(t), "new", "--store", "sqlite:"+path)
		<-w.gone
		text := last(w.log, 9)
		if code := w.cmd.ProcessState.ExitCode(); code != 1 || len(w.ids) > 0 || !strings.Contains(text, path) ||
			!strings.Contains(text, "may not write the file") && !strings.Contains(text, "read-only file system") {
			t.Errorf("a file that is %s: exit code %d, %d IDs: %s", name, code, len(w.ids), text)
		}
		seen.add(row{
			fault: "a program starts on a file that is read-only", store: "SQLite", processes: 1,
			said: strings.TrimPrefix(strings.ReplaceAll(last(w.log, 1), d.dir, "DIR"), "snowfence: "),
		})
		tests.Fails(t, tests.ErrOf(os.Stat(filepath.Join(d.dir, "other.db"))),
			"a file was made where nothing can be written")
	}
}
