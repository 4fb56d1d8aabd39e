//go:build unix && !aix && !solaris && !illumos

package disk

import (
	"io/fs"
	"syscall"
)

// Links returns how many names a file has.
func Links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() {
		return uint64(st.Nlink)
	}
	return 1
}
