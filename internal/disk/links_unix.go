//go:build unix && !aix && !solaris && !illumos

package disk

import (
	"io/fs"
	"os"
	"syscall"
)

// Links returns how many names a file has.
func Links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() {
		return uint64(st.Nlink)
	}
	return 1
}

// Inode returns the number of a file in its file system, which a copy does
// not have.
func Inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}

// Own gives a new file the owner of another, or at least its group, if it
// may.
func Own(f *os.File, like fs.FileInfo) error {
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
