package servers

import "syscall"

// withParent ends a server when the test that started it is gone, however that ended.
func withParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
