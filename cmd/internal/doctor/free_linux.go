package doctor

import (
	"fmt"
	"syscall"
)

// freeBytes returns how much this user may still write on the disk of a
// file.
func freeBytes(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, fmt.Errorf("asking how much of the disk is free: %w", err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
