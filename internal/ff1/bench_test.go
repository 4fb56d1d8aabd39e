package ff1

import (
	"fmt"
	"testing"
)

func benchCipher(b *testing.B, key, bits int) *Cipher {
	c, err := New(make([]byte, key), bits, []byte("bench"))
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkOne measures a chain: each number waits for the one before.
func BenchmarkOne(b *testing.B) {
	for _, key := range []int{16, 24, 32} {
		b.Run(fmt.Sprintf("AES-%d", 8*key), func(b *testing.B) {
			c := benchCipher(b, key, 63)
			b.ReportAllocs()
			var x uint64
			for b.Loop() {
				x, _ = c.Encrypt(x)
			}
		})
	}
}

// BenchmarkAll measures batches.
func BenchmarkAll(b *testing.B) {
	for _, key := range []int{16, 24, 32} {
		for _, n := range []int{1, 7, 1024} {
			b.Run(fmt.Sprintf("AES-%d/%d", 8*key, n), func(b *testing.B) {
				c := benchCipher(b, key, 63)
				x := make([]uint64, n)
				b.ReportAllocs()
				for b.Loop() {
					if err := c.EncryptAll(x, x); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/block")
			})
		}
	}
}
