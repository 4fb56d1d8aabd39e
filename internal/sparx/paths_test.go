package sparx

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
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
	c := mustCipher(t, p, key)
	for _, form := range []struct {
		name   string
		many   func(dst, src []uint64) int
		one    func(uint64) uint64
		oracle func(*words, uint64) uint64
	}{
		{"encrypt", c.EncryptBlocks, c.Encrypt64, (*words).encrypt},
		{"decrypt", c.DecryptBlocks, c.Decrypt64, (*words).decrypt},
	} {
		want := oracle(key, src, form.oracle)
		equal := func(how string, got []uint64) {
			t.Helper()
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("%s %s of %d blocks, key %x: [%d] of %#x = %#x, want %#x",
						form.name, how, len(src), key, i, src[i], got[i], want[i])
				}
			}
		}

		// The numbers around dst must not change, and neither must src.
		const guard, room = 0x5eed5eed5eed5eed, 40
		around := make([]uint64, len(src)+2*room)
		for i := range around {
			around[i] = guard
		}
		from := append([]uint64(nil), src...)
		if n := form.many(around[room:room+len(src)], from); n != len(src) {
			t.Fatalf("%s returned %d of %d", form.name, n, len(src))
		}
		equal("batch", around[room:])
		for i, v := range around {
			if (i < room || i >= room+len(src)) && v != guard {
				t.Fatalf("%s of %d blocks wrote outside dst, at %d", form.name, len(src), i-room)
			}
		}
		for i := range src {
			if from[i] != src[i] {
				t.Fatalf("%s changed src", form.name)
			}
			around[i] = form.one(src[i])
		}
		equal("one by one", around)

		form.many(from, from)
		equal("in place", from)
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

func TestLengthsThatDiffer(t *testing.T) {
	eachPath(t, func(t *testing.T, p Path) {
		c := mustCipher(t, p, make([]byte, KeySize))
		a, b := make([]uint64, 100), make([]uint64, 70)
		if n := c.EncryptBlocks(a, b); n != 70 || a[69] == 0 || a[70] != 0 {
			t.Errorf("a longer dst: %d, %#x, %#x", n, a[69], a[70])
		}
		if n := c.DecryptBlocks(b, a); n != 70 || b[69] != 0 {
			t.Errorf("a longer src: %d, %#x", n, b[69])
		}
		if n := c.EncryptBlocks(nil, a) + c.DecryptBlocks(nil, nil) + c.EncryptBlocks(a, nil); n != 0 {
			t.Errorf("nothing: %d", n)
		}
		c.EncryptCounter(nil, 1, 1)
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
	mustCipher(t, p, key).EncryptCounter(got[:n], start, step)
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
		c := mustCipher(t, p, make([]byte, KeySize))
		dst := make([]uint64, 163)
		if n := testing.AllocsPerRun(10, func() {
			c.EncryptBlocks(dst, dst)
			c.DecryptBlocks(dst, dst)
			c.EncryptCounter(dst, 0xfff0, 1)
			dst[0] = c.Encrypt64(c.Decrypt64(dst[0]))
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func ExampleCipher_EncryptBlocks() {
	c, err := New([]byte("sixteen byte key"))
	if err != nil {
		panic(err)
	}
	ids := []uint64{1, 2, 3}
	c.EncryptBlocks(ids, ids)
	c.DecryptBlocks(ids, ids)
	fmt.Println(ids)
	// Output: [1 2 3]
}
