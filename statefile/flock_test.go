//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package statefile

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLockIsLookedAtAgain: a lock file that was deleted, or replaced,
// between opening and locking it is no lock.
func TestLockIsLookedAtAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.lock")
	open := func() *os.File {
		file := must(os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644))
		t.Cleanup(func() { file.Close() })
		return file
	}
	first := open()
	noError(t, os.Remove(path))
	if lockOpen(first) == nil {
		t.Error("a deleted file was locked")
	}
	second := open()
	noError(t, lockOpen(second))
	if lockOpen(first) == nil {
		t.Error("two locks: on a file, and on the one that it replaced")
	}
}
