package bench

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/sparx"
	"gosuda.org/randflake/sparx64"
)

// BenchmarkSPARX compares the cipher with that of the Randflake library. Each sample of
// ours stands beside one of theirs, taken right after it, so that whatever else the
// machine does slows down both; what is reported are the medians and their ratio.
func BenchmarkSPARX(b *testing.B) {
	key := []byte("sixteen byte key")
	theirs := sparx64.NewSparx64(key)

	// One block after another, each made of the one before, which is how long a caller of
	// one block waits.
	block := make([]byte, sparx.BlockSize)
	chain := func(n int) {
		for range n {
			theirs.Encrypt(block, block)
		}
	}
	// Many blocks that do not wait for each other. The library has no form for many.
	blocks := make([]byte, 1024*sparx.BlockSize)
	each := func(n int) {
		for i := range n {
			part := blocks[i%1024*sparx.BlockSize:][:sparx.BlockSize]
			theirs.Encrypt(part, part)
		}
	}

	for _, path := range sparx.Available() {
		b.Setenv(sparx.Variable, string(path))
		ours, err := sparx.New(key)
		if err != nil {
			b.Fatal(err)
		}
		ids := make([]uint64, 1024)
		agree(b, ours, theirs, ids)

		b.Run(string(path)+"/one", func(b *testing.B) {
			x := uint64(1)
			compare(b, 100, func() {
				for range 100 {
					x = ours.Encrypt64(x)
				}
			}, chain)
		})
		for _, form := range []struct {
			name string
			fill func()
		}{
			{"batch", func() { ours.EncryptBlocks(ids, ids) }},
			{"decrypt", func() { ours.DecryptBlocks(ids, ids) }},
			{"counter", func() { ours.EncryptCounter(ids, 1<<40+12345, 1) }},
		} {
			b.Run(string(path)+"/"+form.name, func(b *testing.B) {
				compare(b, 16*len(ids), func() {
					for range 16 {
						form.fill()
					}
				}, each)
			})
		}
	}
}

// compare measures ours, which does n blocks, and theirs with a hundred.
func compare(b *testing.B, n int, ours func(), theirs func(n int)) {
	const few = 100
	var us, them []float64
	for b.Loop() {
		start := time.Now()
		ours()
		middle := time.Now()
		theirs(few)
		us = append(us, float64(middle.Sub(start).Nanoseconds())/float64(n))
		them = append(them, float64(time.Since(middle).Nanoseconds())/few)
	}
	slices.Sort(us)
	slices.Sort(them)
	our, their := us[len(us)/2], them[len(them)/2]
	b.ReportMetric(0, "ns/op") // of both together, which is of no use
	b.ReportMetric(our, "ns/block")
	b.ReportMetric(their, "ref-ns/block")
	b.ReportMetric(our/their, "of-ref")
}

// agree fails when the two ciphers differ: a comparison of speeds would be for nothing.
func agree(b *testing.B, ours *sparx.Cipher, theirs *sparx64.Sparx64, ids []uint64) {
	for i := range ids {
		ids[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	got := slices.Clone(ids)
	ours.EncryptBlocks(got, got)
	var block [sparx.BlockSize]byte
	for i, id := range ids {
		binary.LittleEndian.PutUint64(block[:], id)
		theirs.Encrypt(block[:], block[:])
		if want := binary.LittleEndian.Uint64(block[:]); got[i] != want {
			b.Fatalf("%#x becomes %#x, in the library %#x", id, got[i], want)
		}
	}
}
