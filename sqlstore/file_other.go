//go:build !unix || aix || solaris || illumos

package sqlstore

import "os"

// identity has no number of the file here: only the random one inside it counts, which a
// copy shares.
func (f *file) identity() string { return "" }

// local cannot tell network file systems here.
func local(string) error { return nil }

// links and mounted cannot tell here how many names a file has.
func links(os.FileInfo) uint64 { return 1 }
func mounted(string) bool      { return false }

// owned has no owner or group to give here.
func owned(*os.File, os.FileInfo) error { return nil }
