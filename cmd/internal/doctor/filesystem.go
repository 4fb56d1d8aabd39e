package doctor

import (
	"context"

	"github.com/snowfence/snowfence/internal/disk"
)

// fileSystem says where the file of an embedded store lies. Network file
// systems were refused when it was opened.
func fileSystem(_ context.Context, c *Case, r *report) {
	path := c.Store.File()
	if path == "" {
		r.unchecked([]string{StoreFileSystem}, "", "the store is on a server: look at its disks there")
		return
	}
	judgeFileSystem(path, disk.Kind(path), r)
}

func judgeFileSystem(path, kind string, r *report) {
	const cure = "keep the file on a disk of this machine, in a container on a volume"
	switch kind {
	case "":
		r.unchecked([]string{StoreFileSystem}, path, "this system does not tell which file system it is on")
	case "tmpfs", "ramfs":
		r.found(StoreFileSystem, path, cure, "the file is on %s, in memory: a restart of the machine forgets all "+
			"grants, and IDs come twice", kind)
	case "overlay", "aufs":
		r.found(StoreFileSystem, path, cure, "the file is on %s, the file system of a container: the next container "+
			"has an older file or none, and IDs come twice", kind)
	default:
		r.good(StoreFileSystem, path, "the file is on %s", kind)
	}
}
