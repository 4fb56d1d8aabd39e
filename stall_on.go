//go:build snowfence_stall

package snowfence

import "sync/atomic"

// onStall is what a test does at each point between two atomic steps.
var onStall atomic.Pointer[func(point)]

func stall(p point) {
	if f := onStall.Load(); f != nil {
		(*f)(p)
	}
}
