//go:build snowfence_stall

package snowfence

import "sync/atomic"

// stalling is true in builds for tests that stop goroutines between two atomic steps.
const stalling = true

// onStall is what such a test does at each point; it exists under this build tag only.
var onStall atomic.Pointer[func(point)]

func stall(p point) {
	if f := onStall.Load(); f != nil {
		(*f)(p)
	}
}
