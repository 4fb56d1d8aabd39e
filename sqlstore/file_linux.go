package sqlstore

import (
	"fmt"
	"syscall"
)

// identity is the file system and the inode. It prefers the ID kept in the file system:
// device numbers change over reboots, and each change would make everybody wait.
func (f *file) identity() string {
	st, ok := f.info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	dev := uint64(st.Dev)
	var fs syscall.Statfs_t
	if err := syscall.Statfs(f.path, &fs); err == nil && fs.Fsid.X__val != [2]int32{} {
		dev = uint64(uint32(fs.Fsid.X__val[0]))<<32 | uint64(uint32(fs.Fsid.X__val[1]))
	}
	return fmt.Sprintf(":%x:%d", dev, st.Ino)
}
