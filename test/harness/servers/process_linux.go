package servers

import (
	"fmt"
	"net"
	"syscall"
	"testing"
)

// withParent ends a server when the test that started it is gone, however
// that ended.
func withParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// reserve keeps a port from other tests, in other processes too, until this
// one ends. An abstract socket does it: the system drops it with the
// process.
func reserve(t testing.TB, port int) error {
	l, err := net.Listen("unix", fmt.Sprintf("@snowfence-test-port-%d", port))
	if err == nil {
		t.Cleanup(func() { _ = l.Close() })
	}
	return err
}
