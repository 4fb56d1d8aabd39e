package bench

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// batch is how many IDs a call of Fill makes here.
const batch = 1024

// The bare limits: nothing that needs one of them can be faster than it. With two
// goroutines they work on one word, as two callers of one generator do.
var limits = []entry{
	{name: "add", layout: "wide", start: func(*testing.B) func() work {
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
	{name: "cas", layout: "wide", start: func(*testing.B) func() work {
		var word padded
		return func() work {
			return func(n int) error {
				var x uint64
				for range n {
					for {
						old := word.Load()
						if word.CompareAndSwap(old, old+1) {
							x ^= old
							break
						}
					}
				}
				sink.Store(x)
				return nil
			}
		}
	}},
	{name: "mutex", layout: "wide", start: func(*testing.B) func() work {
		var guarded struct {
			_ [64]byte
			sync.Mutex
			word uint64
			_    [64]byte
		}
		return func() work {
			return func(n int) error {
				var x uint64
				for range n {
					guarded.Lock()
					guarded.word++
					x ^= guarded.word
					guarded.Unlock()
				}
				sink.Store(x)
				return nil
			}
		}
	}},
	{name: "now", layout: "wide", start: func(*testing.B) func() work {
		return func() work {
			return func(n int) error {
				var x int64
				for range n {
					x ^= time.Now().UnixNano()
				}
				sink.Store(uint64(x))
				return nil
			}
		}
	}},
	{name: "since", layout: "wide", start: func(*testing.B) func() work {
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
	{name: "loop", layout: "wide", perOp: batch, start: func(*testing.B) func() work {
		return func() work { return inBatches(storeLoop) }
	}},
	{name: "unrolled", layout: "wide", perOp: batch, start: func(*testing.B) func() work {
		return func() work { return inBatches(storeUnrolled) }
	}},
}

// padded is a word that shares its cache line with nothing.
type padded struct {
	_ [64]byte
	atomic.Uint64
	_ [64]byte
}

// inBatches makes IDs with a function that fills a slice with consecutive numbers.
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

// storeUnrolled is the fastest of the forms tried: the next four hang on one addition,
// and the processor has the rest of them in flight at the same time.
//
//go:noinline
func storeUnrolled(dst []uint64, first uint64) {
	for len(dst) >= 16 {
		d := (*[16]uint64)(dst)
		d[0] = first
		d[1] = first + 1
		d[2] = first + 2
		d[3] = first + 3
		first += 4
		d[4] = first
		d[5] = first + 1
		d[6] = first + 2
		d[7] = first + 3
		first += 4
		d[8] = first
		d[9] = first + 1
		d[10] = first + 2
		d[11] = first + 3
		first += 4
		d[12] = first
		d[13] = first + 1
		d[14] = first + 2
		d[15] = first + 3
		first += 4
		dst = dst[16:]
	}
	for i := range dst {
		dst[i] = first + uint64(i)
	}
}
