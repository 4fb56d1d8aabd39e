//go:build !unix || aix || solaris || illumos

package disk

import (
	"io/fs"
	"os"
)

// Links cannot tell here how many names a file has.
func Links(fs.FileInfo) uint64 { return 1 }

// Inode cannot tell files apart here.
func Inode(fs.FileInfo) uint64 { return 0 }

// Own has no owner or group to give here.
func Own(*os.File, fs.FileInfo) error { return nil }
