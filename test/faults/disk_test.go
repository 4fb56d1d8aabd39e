package faults

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// disk is a small file system of a test's own.
type disk struct{ dir string }

// newDisk mounts a file system of some size, such as "16m". It needs the namespace that TestMain makes, or root.
func newDisk(t testing.TB, size string) *disk {
	t.Helper()
	d := &disk{t.TempDir()}
	if err := syscall.Mount("tmpfs", d.dir, "tmpfs", 0, "mode=0755,size="+size); err != nil {
		t.Skipf("mounting a small file system: %v; run as root, or allow user namespaces: sysctl kernel.unprivileged_userns_clone=1", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

// fill leaves no byte of room, until the function that it returns is called.
func (d *disk) fill(t testing.TB) (free func()) {
	t.Helper()
	path := filepath.Join(d.dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2 // what is left is less
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// readOnly mounts the file system anew, for reading only. Nothing in it may be open for writing.
func (d *disk) readOnly(t testing.TB) {
	t.Helper()
	if err := syscall.Mount("", d.dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}
