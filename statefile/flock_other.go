//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package statefile

import (
	"fmt"
	"os"
	"runtime"
)

func lockFile(path string) (*os.File, error) {
	return nil, fmt.Errorf("state files need flock, which %s does not have: use a lease", runtime.GOOS)
}

func mountedAlone(err error) error { return err }
