//go:build linux

package faults

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
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
