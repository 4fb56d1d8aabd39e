//go:build linux

package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

// disk is a small file system of a test's own.
type disk struct{ dir string }

// newDisk mounts a file system of some size, such as "16m", and lets the
// temporary folders of this test be there, as long as they are asked for
// while start runs. It needs the namespace that TestMain makes, or root.
func newDisk(t testing.TB, size string, start func(d *disk)) *disk {
	t.Helper()
	temporary.Lock()
	defer temporary.Unlock()
	dir, err := os.MkdirTemp("", "snowfence-disk-")
	must(t, err)
	d := &disk{dir}
	if err := syscall.Mount("tmpfs", d.dir, "tmpfs", 0, "mode=0755,size="+size); err != nil {
		_ = os.Remove(dir) // what counts is that the test cannot run
		t.Skipf("mounting a small file system: %v; run as root, or allow user namespaces: sysctl "+
			"kernel.unprivileged_userns_clone=1", err)
	}
	t.Cleanup(func() {
		must(t, errors.Join(syscall.Unmount(d.dir, syscall.MNT_DETACH), os.Remove(d.dir)))
	})
	if err := os.Chmod(dir, 0o755); err != nil { // servers may run as other users
		t.Fatal(err)
	}
	before, set := os.LookupEnv("TMPDIR")
	must(t, os.Setenv("TMPDIR", dir))
	defer func() {
		if set {
			err = os.Setenv("TMPDIR", before)
		} else {
			err = os.Unsetenv("TMPDIR")
		}
		must(t, err)
	}()
	start(d)
	return d
}

// temporary is held while the process's folder for temporary files is a
// test's, and by tests that make one there.
var temporary sync.Mutex

// tempDir is t.TempDir on the machine's own disk.
func tempDir(t testing.TB) string {
	t.Helper()
	temporary.Lock()
	defer temporary.Unlock()
	return t.TempDir()
}

// ownDisk runs do while temporary folders are on the machine's own disk.
func ownDisk(t testing.TB, do func()) {
	t.Helper()
	temporary.Lock()
	defer temporary.Unlock()
	_ = t.TempDir() // all others of this test are beside it
	do()
}

// fill leaves no byte of room, until the function that it returns is
// called.
func (d *disk) fill(t testing.TB) (free func()) {
	t.Helper()
	path := filepath.Join(d.dir, "filler")
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2 // what is left is less
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		must(t, os.Remove(path))
	}
}

// readOnly mounts the file system anew, for reading only. Nothing in it may
// be open for writing.
func (d *disk) readOnly(t testing.TB) {
	t.Helper()
	must(t, syscall.Mount("", d.dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
}

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

// birth lets ten processes at once be the first users of a store that is
// empty, which make its tables and the namespace, and kills them in the
// middle of it, again and again. Ten others find a store that works, and no
// ID is made twice by any of them.
func birth(t *testing.T, tg *target) {
	rounds := 1
	if *long {
		rounds = 20
	}
	s := fleet.Scheme(t, "twitter")
	r := row{
		fault: "ten processes make the store and are killed (SIGKILL), ten others use it", store: tg.kind,
		processes: 20 * rounds,
	}
	for round := range rounds {
		args := []string{"-store", tg.fresh(t, round), "-namespace", namespace, "-create", "-ttl", ttl.String()}
		ten := func(name string) (ws []*worker) {
			for i := range 10 {
				ws = append(ws, launch(t, fmt.Sprintf("round %d, %s %d", round, name, i), nil, holderPath(t), args...))
			}
			return ws
		}
		first := ten("killed")
		var kills sync.WaitGroup
		for _, w := range first {
			kills.Go(func() {
				time.Sleep(rand.N(200 * time.Millisecond)) // at any moment of the first creation
				w.kill()
			})
		}
		kills.Wait()
		second := ten("worker")
		working(t, second)
		end(t, second...)
		v := judged(t, s, append(first, second...))
		r.ids += v.ids
		r.twice += v.duplicates
	}
	seen.add(r)
	t.Logf("%d rounds, %d IDs", rounds, r.ids)
}
