//go:build snowfence_stall

package snowfence

import "sync/atomic"

// onStall is the test's action at each point between two atomic steps.
var onStall atomic.Pointer[func(point)]

func stall(p point) {
	if f := onStall.Load(); f != nil {
		(*f)(p)
	}
}
