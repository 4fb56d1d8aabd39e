//go:build !linux

package servers

import "syscall"

// withParent changes nothing: only Linux ends a process with its parent.
func withParent() *syscall.SysProcAttr { return nil }
