//go:build !purego

package world

import (
	"encoding/binary"
	"os"
	"sync"
)

// rndr draws a number; ok is false if the processor has none ready.
func rndr() (number uint64, ok bool)

// The kernel's words about the processor (include/uapi/linux/auxvec.h,
// asm/hwcap.h).
const (
	atHWCap2 = 26
	hwRNG    = 1 << 16
)

var processorDraws = sync.OnceValue(func() bool {
	words, _ := os.ReadFile("/proc/self/auxv") // without it no number is drawn
	for ; len(words) >= 16; words = words[16:] {
		if binary.LittleEndian.Uint64(words) == atHWCap2 {
			return binary.LittleEndian.Uint64(words[8:])&hwRNG != 0
		}
	}
	return false
})

// hardware returns a random number of the processor, or 0 where it has
// none.
func hardware() uint64 {
	if !processorDraws() {
		return 0
	}
	number, _ := rndr()
	return number
}
