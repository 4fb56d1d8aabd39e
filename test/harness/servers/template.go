package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// copied makes a folder of data for a server as install does. The first
// time, it is installed, and kept in the user's cache folder. Later it is
// copied from there, in a quarter of the time. Each version of a program
// has a folder of its own.
func copied(t testing.TB, program, dir string, install func()) {
	t.Helper()
	info, err := os.Stat(program)
	must(t, err)
	cache, err := os.UserCacheDir()
	if err != nil {
		install()
		return
	}
	kept := filepath.Join(cache, "snowfence-servers", fmt.Sprintf("%s-%d-%d", filepath.Base(program),
		info.Size(), info.ModTime().Unix()))
	if _, err := os.Stat(kept); err == nil {
		must(t, cp(kept, dir))
		return
	}
	install()
	if err := keep(dir, kept); err != nil {
		t.Logf("the next server is installed, too: %v", err) // or another test was faster
	}
}

// keep copies a folder under another name first, because tests of other
// packages may look now.
func keep(dir, kept string) error {
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(kept), "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := cp(dir, filepath.Join(fresh, "data")); err != nil {
		return err
	}
	return os.Rename(filepath.Join(fresh, "data"), kept)
}

func cp(from, to string) error {
	out, err := exec.Command("cp", "-a", from, to).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("cp: %w: %s", err, out)
	}
	return err
}
