package serve

import (
	"net"
	"syscall"
)

// userOf returns the user ID of the program at the other end of a socket, from the kernel: of the
// time when it connected.
func userOf(c net.Conn) (id uint32, ok bool) {
	socket, is := c.(*net.UnixConn)
	if !is {
		return 0, false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(fd uintptr) {
		if who, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			id, ok = who.Uid, true
		}
	})
	return id, ok && err == nil
}
