//go:build !linux

package disk

// Network cannot tell network file systems here.
func Network(string) (string, error) { return "", nil }

// Kind cannot tell here.
func Kind(string) string { return "" }

// Mounted cannot tell mount points here.
func Mounted(string) bool { return false }
