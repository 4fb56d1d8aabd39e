//go:build unix

package open

import (
	"os"
	"os/user"
	"slices"
	"strconv"
	"syscall"
)

// groupOf returns the name of the group of a file, or its number.
func groupOf(info os.FileInfo) string {
	gid, ok := gidOf(info)
	if !ok {
		return ""
	}
	text := strconv.Itoa(gid)
	if g, err := user.LookupGroupId(text); err == nil {
		return g.Name
	}
	return text
}

// member reports whether this process has the rights of a file's group.
func member(info os.FileInfo) bool {
	gid, ok := gidOf(info)
	groups, err := os.Getgroups()
	return !ok || err != nil || gid == os.Getegid() || os.Geteuid() == 0 || slices.Contains(groups, gid)
}

// shareNewFiles lets the group have the rights to new files that their
// modes give it. It is for the whole process.
func shareNewFiles() {
	before := syscall.Umask(0o077)
	syscall.Umask(before &^ 0o070)
}

func gidOf(info os.FileInfo) (int, bool) {
	if info == nil {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Gid), true
}
