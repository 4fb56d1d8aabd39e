//go:build unix

package main

import (
	"io/fs"
	"math"
	"os"
	"syscall"
)

// keepOwner gives a file the user and the group of the one that it replaces.
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

// mostFiles returns how many files and connections this process may have open at a time.
func mostFiles() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxUint64 // no limit is known
	}
	return uint64(l.Cur)
}
