//go:build unix

package doctor

import (
	"path/filepath"
	"syscall"
)

const mayWrite = 2 // W_OK

// writable reports whether this user may write a database and beside it.
// The file is not opened.
func writable(path string) bool {
	return syscall.Access(path, mayWrite) == nil && syscall.Access(filepath.Dir(path), mayWrite) == nil
}
