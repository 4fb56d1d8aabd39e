package sparx

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// oracle is what numbers become by the code of the specification.
func oracle(key []byte, src []uint64, f func(*words, uint64) uint64) []uint64 {
	var w words
	w.expand((*[KeySize]byte)(key))
	dst := make([]uint64, len(src))
	for i, v := range src {
		dst[i] = bits.ReverseBytes64(f(&w, bits.ReverseBytes64(v)))
	}
	return dst
}

func random(seed uint64) (*rand.Rand, []byte) {
	r := rand.New(rand.NewPCG(seed, 1))
	key := make([]byte, KeySize)
	for i := range key {
		key[i] = byte(r.Uint32())
	}
	return r, key
}

// checkBlocks compares everything that a path can do with the oracle.
func checkBlocks(t *testing.T, p Path, key []byte, src []uint64) {
	t.Helper()
	c := must(newOn(p, key))
	want, plain := oracle(key, src, (*words).encrypt), oracle(key, src, (*words).decrypt)
	// Around the blocks are numbers that stay as they are.
	const guard, room = 0x5eed5eed5eed5eed, 40
	around := slices.Repeat([]uint64{guard}, len(src)+2*room)
	copy(around[room:], src)
	c.EncryptBlocks(around[room : room+len(src)])
	for i, v := range around {
		at := i - room
		switch inside := at >= 0 && at < len(src); {
		case inside && v != want[at]:
			t.Fatalf("%d blocks, key %x: [%d] of %#x = %#x, want %#x", len(src), key, at, src[at], v, want[at])
		case !inside && v != guard:
			t.Fatalf("%d blocks wrote outside, at %d", len(src), at)
		}
	}
	for i, v := range src {
		if x, y := c.Encrypt64(v), c.Decrypt64(v); x != want[i] || y != plain[i] {
			t.Fatalf("one by one, key %x: %#x = %#x and %#x, want %#x and %#x", key, v, x, y, want[i], plain[i])
		}
	}
}

func TestBlocks(t *testing.T) {
	eachPath(t, func(t *testing.T, p Path) {
		r, _ := random(1)
		for n := range 300 {
			_, key := random(uint64(n))
			src := make([]uint64, n)
			for i := range src {
				src[i] = r.Uint64()
			}
			checkBlocks(t, p, key, src)
		}

		// More than a call of the vector code takes, with a rest of every
		// kind.
		_, key := random(1)
		src := make([]uint64, 2*maxCall+5*maxGroup+maxGroup/2+worthGroup+1)
		for i := range src {
			src[i] = r.Uint64()
		}
		checkBlocks(t, p, key, src)
	})
}

// TestEdges has words in which additions and subtractions carry all the
// way, in every lane: 0, 1, 0x7fff, 0x8000 and 0xffff in every combination.
func TestEdges(t *testing.T) {
	edges := []uint64{0, 1, 0x7fff, 0x8000, 0xffff}
	var src []uint64
	for i := range 5 * 5 * 5 * 5 {
		v := edges[i%5] | edges[i/5%5]<<16 | edges[i/25%5]<<32 | edges[i/125]<<48
		src = append(src, v, bits.ReverseBytes64(v))
	}
	eachPath(t, func(t *testing.T, p Path) {
		for seed := range 64 {
			_, key := random(uint64(seed))
			for i := range key {
				switch seed {
				case 0:
					key[i] = 0
				case 1:
					key[i] = 0xff
				}
			}
			checkBlocks(t, p, key, src)
		}
	})
}

// checkCounter compares EncryptCounter with the oracle.
func checkCounter(t *testing.T, p Path, key []byte, n int, start, step uint64) {
	t.Helper()
	src := make([]uint64, n)
	for i := range src {
		src[i] = start + uint64(i)*step
	}
	want := oracle(key, src, (*words).encrypt)
	got := make([]uint64, n+1)
	must(newOn(p, key)).EncryptCounter(got[:n], start, step)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("EncryptCounter of %d from %#x by %#x, key %x: [%d] = %#x, want %#x",
				n, start, step, key, i, got[i], want[i])
		}
	}
	if got[n] != 0 {
		t.Fatalf("EncryptCounter of %d from %#x by %#x wrote more", n, start, step)
	}
}

func TestCounter(t *testing.T) {
	eachPath(t, func(t *testing.T, p Path) {
		r, key := random(2)
		for n := range 300 {
			checkCounter(t, p, key, n, r.Uint64(), 1)
			checkCounter(t, p, key, n, r.Uint64(), uint64(r.Uint32N(0x10000)))
		}
		for _, step := range []uint64{
			0, 1, 2, 3, 64, 255, 256, 1000, 0x7fff, 0x8000, 0xffff, 0x10000, 0x10001,
			1 << 17, 1 << 34, 1<<63 + 1, ^uint64(0),
		} {
			for _, low := range []uint64{0, 1, 0xff00, 0xffc0, 0xfffe, 0xffff} {
				for _, high := range []uint64{0, 0x1234_5678_9abc_0000, 0xffff_ffff_ffff_0000} {
					checkCounter(t, p, key, 700, high|low, step)
				}
			}
		}
		// Through several ends of 65,536, from every offset in a group.
		for i := range uint64(64) {
			checkCounter(t, p, key, 1000, 0xfffff-500+i, 1)
		}
		checkCounter(t, p, key, 3<<16, 0xabcdef, 1)
	})
}

func TestNoAllocations(t *testing.T) {
	eachPath(t, func(t *testing.T, p Path) {
		c := must(newOn(p, make([]byte, KeySize)))
		dst := make([]uint64, 163)
		if n := testing.AllocsPerRun(10, func() {
			c.EncryptBlocks(dst)
			c.EncryptCounter(dst, 0xfff0, 1)
			dst[0] = c.Encrypt64(c.Decrypt64(dst[0]))
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// unround is the inverse of A.
func unround(l, r uint16) (uint16, uint16) {
	r = bits.RotateLeft16(r^l, -2)
	return bits.RotateLeft16(l-r, 7), r
}

// encrypt encrypts a block with the bytes of v, the highest first.
func (w *words) encrypt(v uint64) uint64 {
	x := split(v)
	k := w[:]
	for range steps {
		for b := 0; b < 4; b += 2 {
			for range rounds {
				x[b], x[b+1] = round(x[b]^k[0], x[b+1]^k[1])
				k = k[2:]
			}
		}
		t := bits.RotateLeft16(x[0]^x[1], 8)
		x = [4]uint16{x[2] ^ x[0] ^ t, x[3] ^ x[1] ^ t, x[0], x[1]}
	}
	for i := range x {
		x[i] ^= k[i]
	}
	return join(x)
}

// decrypt is the inverse of encrypt, from its last line to its first.
func (w *words) decrypt(v uint64) uint64 {
	x := split(v)
	k := w[:]
	for i := range x {
		x[i] ^= k[len(k)-4+i]
	}
	k = k[:len(k)-4]
	for range steps {
		t := bits.RotateLeft16(x[2]^x[3], 8)
		x = [4]uint16{x[2], x[3], x[0] ^ x[2] ^ t, x[1] ^ x[3] ^ t}
		for b := 2; b >= 0; b -= 2 {
			for range rounds {
				l, r := unround(x[b], x[b+1])
				x[b], x[b+1] = l^k[len(k)-2], r^k[len(k)-1]
				k = k[:len(k)-2]
			}
		}
	}
	return join(x)
}
