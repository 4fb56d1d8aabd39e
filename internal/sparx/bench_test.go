package sparx

import (
	"strconv"
	"testing"
)

// perBlock reports the time of a block beside the time of a call.
func perBlock(b *testing.B, blocks int) {
	b.SetBytes(int64(blocks) * BlockSize)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(blocks), "ns/block")
}

// BenchmarkOne measures a chain: each block waits for the one before.
func BenchmarkOne(b *testing.B) {
	for _, p := range []Path{Generic, SWAR} {
		c := mustCipher(b, p, make([]byte, KeySize))
		b.Run(string(p)+"/encrypt", func(b *testing.B) {
			var x uint64
			for b.Loop() {
				x = c.Encrypt64(x)
			}
		})
		b.Run(string(p)+"/decrypt", func(b *testing.B) {
			var x uint64
			for b.Loop() {
				x = c.Decrypt64(x)
			}
		})
	}
}

// BenchmarkBlocks measures batches of 1024.
func BenchmarkBlocks(b *testing.B) {
	for _, p := range Available() {
		c := mustCipher(b, p, make([]byte, KeySize))
		x := make([]uint64, 1024)
		b.Run(string(p)+"/encrypt", func(b *testing.B) {
			for b.Loop() {
				c.EncryptBlocks(x, x)
			}
			perBlock(b, len(x))
		})
		b.Run(string(p)+"/decrypt", func(b *testing.B) {
			for b.Loop() {
				c.DecryptBlocks(x, x)
			}
			perBlock(b, len(x))
		})
		b.Run(string(p)+"/counter", func(b *testing.B) {
			start := uint64(63673697622556673)
			for b.Loop() {
				c.EncryptCounter(x, start, 1)
				start += uint64(len(x))
			}
			perBlock(b, len(x))
		})
	}
}

// BenchmarkSmall measures batches that do not fill a group.
func BenchmarkSmall(b *testing.B) {
	for _, p := range Available() {
		c := mustCipher(b, p, make([]byte, KeySize))
		for _, n := range []int{1, 4, 15, 31, 33, 100} {
			x := make([]uint64, n)
			b.Run(string(p)+"/"+strconv.Itoa(n), func(b *testing.B) {
				for b.Loop() {
					c.EncryptBlocks(x, x)
				}
				perBlock(b, n)
			})
		}
	}
}
