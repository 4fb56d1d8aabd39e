package serve

import (
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// userOf returns the user ID of the program at the other end of a socket,
// from the kernel: of the time when it connected.
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
	subordinate, _ := os.ReadFile("/etc/subuid") // many hosts have none
	return ownerOf(id, string(subordinate)), ok && err == nil
}

// ownerOf returns the owner of a subordinate user ID, by the text of
// /etc/subuid, or else the ID itself. One user may act as each of 65,536
// such users.
func ownerOf(id uint32, subordinate string) uint32 {
	for line := range strings.Lines(subordinate) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) != 3 {
			continue
		}
		first, err := strconv.ParseUint(fields[1], 10, 32)
		count, err2 := strconv.ParseUint(fields[2], 10, 32)
		if err != nil || err2 != nil || uint64(id) < first || uint64(id) >= first+count {
			continue
		}
		if known, err := user.Lookup(fields[0]); err == nil {
			fields[0] = known.Uid
		}
		if owner, err := strconv.ParseUint(fields[0], 10, 32); err == nil {
			return uint32(owner)
		}
	}
	return id
}
