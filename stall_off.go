//go:build !snowfence_stall

package snowfence

// stall does nothing in ordinary builds: the compiler inlines it away.
func stall(point) {}
