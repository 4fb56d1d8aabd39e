//go:build !purego

package world

import "sync"

// rdrand draws a number, and tries ten times, as Intel advises. hasRDRAND
// asks CPUID, which a hypervisor answers slowly.
func rdrand() (number uint64, ok bool)
func hasRDRAND() bool

var processorDraws = sync.OnceValue(hasRDRAND)

// hardware returns a random number of the processor, or 0 where it has
// none.
func hardware() uint64 {
	if !processorDraws() {
		return 0
	}
	number, _ := rdrand()
	return number
}
