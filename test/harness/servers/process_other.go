//go:build !linux

package servers

import (
	"syscall"
	"testing"
)

// withParent changes nothing: only Linux ends a process with its parent.
func withParent() *syscall.SysProcAttr { return nil }

// reserve does nothing: only Linux has sockets with names that vanish with
// the process.
func reserve(testing.TB, int) error { return nil }
