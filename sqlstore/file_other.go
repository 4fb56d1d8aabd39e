//go:build !unix || aix || solaris || illumos

package sqlstore

import "os"

// identity is the random one inside the file only, which a copy shares.
func (f *file) identity() string { return "" }

// local cannot tell network file systems here.
func refuseNetwork(string) error { return nil }

// links and mounted cannot tell here how many names a file has.
func links(os.FileInfo) uint64 { return 1 }
func mounted(string) bool      { return false }

// owned has no owner or group to give here.
func owned(*os.File, os.FileInfo) error { return nil }
