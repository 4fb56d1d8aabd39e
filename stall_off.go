//go:build !snowfence_stall

package snowfence

// stalling is false in every ordinary build, so that the points at which tests stop a goroutine cost nothing.
const stalling = false

func stall(point) {}
