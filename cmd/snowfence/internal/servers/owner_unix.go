//go:build unix

package servers

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the user and the group of the one that it
// replaces.
func keepOwner(path string, before fs.FileInfo) error {
	st, ok := before.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	now, err := os.Stat(path)
	if err != nil {
		return err
	}
	if is, ok := now.Sys().(*syscall.Stat_t); ok && is.Uid == st.Uid && is.Gid == st.Gid {
		return nil
	}
	return os.Chown(path, int(st.Uid), int(st.Gid))
}
