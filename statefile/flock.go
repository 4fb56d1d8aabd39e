//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package statefile

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/snowfence/snowfence"
)

// lockFile opens or makes a file and locks it while it is open. The kernel
// unlocks it when the process ends, in any way.
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

// lockOpen locks an open file and checks that its name still leads to it:
// another process may have deleted it since, and locked the next one.
func lockOpen(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return snowfence.ErrBound
	}
	if err != nil {
		return err
	}
	return sameFile(file)
}

// mountedAlone explains why a file that is a mount of its own cannot be
// replaced.
func mountedAlone(err error) error {
	if errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("%w: the file alone is mounted, as containers do with single files, "+
			"so that it cannot be replaced in one step: mount its folder instead (%w)", ErrUnusable, err)
	}
	return err
}
