//go:build !unix

package doctor

// writable is not known here, which counts as no.
func writable(string) bool { return false }
