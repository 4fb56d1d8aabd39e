package statefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
)

// Backups often leave lock files out. An older copy of a state file that is
// restored without its lock is refused, and so is every file whose lock is
// another one, until it is begun anew.
func TestFileWithoutItsLock(t *testing.T) {
	s := testScheme("twitter")
	for name, harm := range map[string]func(path string) error{
		"no lock": func(path string) error { return os.Remove(path + ".lock") },
		"the lock of another file": func(path string) error {
			f := openState(t, path+"2", s, 5)
			grant(t, f, 1)
			kill(t, f)
			return os.Rename(path+"2.lock", path+".lock")
		},
	} {
		path := filepath.Join(t.TempDir(), "node")
		f := openState(t, path, s, 5)
		grant(t, f, 1000)
		older := must(os.ReadFile(path))
		last := grant(t, f, 50_000)
		kill(t, f)
		noError(t, errors.Join(os.WriteFile(path, older, 0o644), harm(path)))
		for range 2 { // the lock is there after the first time
			f, err := File(path, s, 5)
			if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "--state-after") {
				t.Fatalf("%s: %v, %v", name, f, err)
			}
		}
		noError(t, Reset(path, s, 5, s.Layout().TimeOf(last.Until)))
		f = openState(t, path, s, 5)
		if g := grant(t, f, 1); g.From < last.Until {
			t.Errorf("%s: granted from %d, and until %d before", name, g.From, last.Until)
		}
	}
}

// A folder that is moved away while it is used, and made anew, is noticed
// before the next write.
func TestFolderMovedAway(t *testing.T) {
	s := testScheme("twitter")
	dir := filepath.Join(t.TempDir(), "ids")
	open := func() *Fence {
		f := must(Folder(dir, s, snowfence.NodeRange{Until: 1}))
		t.Cleanup(func() { f.Close() })
		return f
	}
	first := open()
	g := grant(t, first, 1000)
	noError(t, os.Rename(dir, dir+".old"))
	wantErr(t, errOf(first.Grant(t.Context(), g.Until)), ErrUnusable, "after the folder was moved")
	grant(t, open(), 1)
	wantErr(t, errOf(first.Grant(t.Context(), g.Until)), ErrUnusable, "beside another folder in its place")
}

// A name that cannot be written into the lock is no name: nothing is
// granted.
func TestLockThatCannotBeWritten(t *testing.T) {
	f := openState(t, filepath.Join(t.TempDir(), "node"), testScheme("twitter"), 5)
	writable := f.lock
	defer writable.Close()
	f.lock = must(os.Open(writable.Name()))
	fails(t, errOf(f.Grant(t.Context(), 1)), "granted")
	fails(t, errOf(os.Stat(f.path)), "the state file was written")
}

// A lock that was only just made names nobody yet.
func TestLockWithoutAHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node")
	for _, n := range []int{0, holderAt} {
		putFile(t, path+".lock", make([]byte, n))
		if who := holderOf(path); who != "a process" {
			t.Errorf("%d bytes name %q", n, who)
		}
	}
}
