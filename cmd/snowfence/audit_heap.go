package main

import "runtime/debug"

// limitHeap makes the garbage collector keep the program near the memory that IDs may
// take; by itself it would let the heap grow to twice of what is in use. A limit from the
// environment variable GOMEMLIMIT stays, if it is lower. The function returned takes it
// back.
func limitHeap(memory int64) func() {
	const beside = 256 << 20 // tables, buffers, and the program itself
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, memory+beside))
	return func() { debug.SetMemoryLimit(before) }
}
