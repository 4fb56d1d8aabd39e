package ff1

import (
	"encoding/binary"
	"testing"
)

// FuzzOracle compares with the oracle: key is cut or filled up to the
// nearest size, and data is as many numbers as it has eights of bytes.
func FuzzOracle(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), uint8(20), []byte("tweak"), make([]byte, 8*17))
	f.Add(make([]byte, 32), uint8(64), []byte{}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte("a key of 24 bytes, or so"), uint8(53), make([]byte, 12), make([]byte, 8))
	f.Fuzz(func(t *testing.T, k []byte, n uint8, tweak, data []byte) {
		key := make([]byte, min(16+(len(k)+7)/16*8, 32))
		copy(key, k)
		bits := MinBits + int(n-MinBits)%(MaxBits-MinBits+1)
		src := make([]uint64, min(len(data)/8, 3*lanes))
		for i := range src {
			src[i] = binary.LittleEndian.Uint64(data[8*i:]) & mask(uint(bits))
		}
		check(t, key, bits, tweak[:min(len(tweak), 200)], src)
	})
}
