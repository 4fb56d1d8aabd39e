//go:build !linux || !(amd64 || arm64 || loong64 || mips64le || ppc64le || riscv64)

package world

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// Counter returns an error: only Linux has VMClock, and only 64-bit
// little-endian machines can read its counter by one load.
func Counter(path string) (*atomic.Uint64, error) {
	return nil, fmt.Errorf("%s: %w", path, errors.ErrUnsupported)
}
