//go:build unix && !linux && !aix && !solaris && !illumos

package sqlstore

import (
	"fmt"
	"syscall"
)

// identity is the device and the inode, as text.
func (f *file) identity() string {
	st, ok := f.info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf(":%x:%d", uint64(st.Dev), uint64(st.Ino))
}
