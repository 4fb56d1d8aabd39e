//go:build unix && !aix && !solaris && !illumos

package sqlstore

import (
	"os"
	"syscall"
)

// owned gives a new file the owner of another, or at least its group, if it may.
func owned(f *os.File, like os.FileInfo) error {
	st, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if os.Geteuid() == 0 {
		return f.Chown(int(st.Uid), int(st.Gid))
	}
	_ = f.Chown(-1, int(st.Gid))
	return nil
}
