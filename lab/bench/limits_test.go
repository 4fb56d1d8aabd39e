package bench

import (
	"sync/atomic"
	"testing"
	"time"
)

// batch is how many IDs a call of Fill makes here.
const batch = 1024

// The bare limits: nothing that needs one of them can be faster than it.
// With two goroutines they work on one word, as two callers of one
// generator do.
var limits = []entry{
	{name: "add", start: func(*testing.B) func() work {
		var word padded
		return func() work {
			return func(n int) error {
				var x uint64
				for range n {
					x ^= word.Add(1)
				}
				sink.Store(x)
				return nil
			}
		}
	}},
	{name: "since", start: func(*testing.B) func() work {
		anchor := time.Now()
		return func() work {
			return func(n int) error {
				var x time.Duration
				for range n {
					x ^= time.Since(anchor)
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}},
	{name: "loop", perOp: batch, start: func(*testing.B) func() work {
		return func() work { return inBatches(storeLoop) }
	}},
}

// padded is a word that shares its cache line with nothing.
type padded struct {
	_ [64]byte
	atomic.Uint64
	_ [64]byte
}

// inBatches makes IDs with a function that fills a slice with consecutive
// numbers.
func inBatches(fill func(dst []uint64, first uint64)) work {
	dst := make([]uint64, batch)
	return func(n int) error {
		for i := 0; i < n; i += batch {
			fill(dst[:min(batch, n-i)], uint64(i))
		}
		sink.Store(dst[0])
		return nil
	}
}

//go:noinline
func storeLoop(dst []uint64, first uint64) {
	for i := range dst {
		dst[i] = first
		first++
	}
}
