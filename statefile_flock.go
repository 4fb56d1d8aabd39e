//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package snowfence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// links returns how many names a file has.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() {
		return uint64(st.Nlink)
	}
	return 1
}

// lockFile opens a file, made if needed, and locks it for as long as it stays open. The
// kernel takes the lock back when the process ends, however.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lockOpen(file); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// lockOpen locks an open file, and then looks whether its name still leads to it: who
// deletes lock files may have done so since it was opened, and somebody else may have
// locked the next one.
func lockOpen(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("another process uses it: stop that one, or give this one another node and file (%w)",
			ErrBound)
	}
	if err != nil {
		return err
	}
	return sameFile(file)
}

// mountedAlone explains why a file cannot be replaced, where that is so because it is a
// mount of its own.
func mountedAlone(err error) error {
	if errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("%w: the file alone is mounted, as containers do with single files, "+
			"so that it cannot be replaced in one step: mount its folder instead (%w)", ErrStateFile, err)
	}
	return err
}
