//go:build unix && !aix && !solaris && !illumos

package sqlstore

import (
	"os"
	"syscall"
)

// links returns how many names a file has.
func links(info os.FileInfo) uint64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(st.Nlink)
}
