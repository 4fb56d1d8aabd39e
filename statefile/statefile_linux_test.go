package statefile

import (
	"os"
	"path/filepath"
	"testing"
)

// A lock that the kernel refuses, for whatever reason, is no lock: here for
// a descriptor that only names the file.
func TestRefusedLock(t *testing.T) {
	const onlyPath = 0x200000 // O_PATH
	path := filepath.Join(t.TempDir(), "node.lock")
	noError(t, os.WriteFile(path, nil, 0o644))
	file := must(os.OpenFile(path, onlyPath, 0))
	defer file.Close()
	if lockOpen(file) == nil {
		t.Error("a file was locked that flock refused")
	}
}
