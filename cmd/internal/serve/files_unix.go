//go:build unix

package serve

import (
	"math"
	"syscall"
)

// mostFiles returns how many files and connections this process may have
// open at a time.
func mostFiles() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil || uint64(l.Cur) > math.MaxInt32 {
		return math.MaxInt32 // no limit is known, or none counts
	}
	return int(l.Cur)
}
