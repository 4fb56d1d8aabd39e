//go:build !unix

package open

import "os"

// groupOf returns "": groups have no rights here.
func groupOf(os.FileInfo) string { return "" }

func member(os.FileInfo) bool { return true }

func shareNewFiles() {}
