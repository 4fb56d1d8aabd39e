package sparx

import (
	"encoding/binary"
	"testing"
)

// FuzzBlocks compares all paths with the oracle: key is cut or filled up,
// and data is as many numbers as it has eights of bytes.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), make([]byte, 8*33))
	f.Add([]byte{}, []byte{0x80, 0xff, 0x7f, 0, 1, 0, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, k, data []byte) {
		key := make([]byte, KeySize)
		copy(key, k)
		src := make([]uint64, min(len(data)/8, 1000))
		for i := range src {
			src[i] = binary.LittleEndian.Uint64(data[8*i:])
		}
		// The same again in every lane, so that a short input reaches the
		// wide paths too.
		wide := make([]uint64, 160)
		for i := range wide {
			if len(src) > 0 {
				wide[i] = src[i%len(src)] + uint64(i/len(src))
			}
		}
		for _, p := range Available() {
			checkBlocks(t, p, key, src)
			checkBlocks(t, p, key, wide)
		}
	})
}

// FuzzCounter does the same with EncryptCounter.
func FuzzCounter(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), uint16(300), uint64(0xfff0), uint64(1))
	f.Add([]byte{}, uint16(64), ^uint64(0), uint64(1<<63))
	f.Fuzz(func(t *testing.T, k []byte, n uint16, start, step uint64) {
		key := make([]byte, KeySize)
		copy(key, k)
		for _, p := range Available() {
			checkCounter(t, p, key, int(n%1024), start, step)
			checkCounter(t, p, key, int(n%1024), start, step&0xff)
		}
	})
}
