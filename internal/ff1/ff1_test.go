package ff1

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/snowfence/snowfence/internal/draw"
)

func mustCipher(t interface{ Fatal(...any) }, key []byte, bits int, tweak []byte) *Cipher {
	return must(New(key, bits, tweak))
}

// check compares all forms, in both directions, with the oracle and with
// each other.
func check(t interface {
	Fatal(...any)
	Errorf(string, ...any)
}, key []byte, bits int, tweak []byte, src []uint64,
) {
	c, o := mustCipher(t, key, bits, tweak), newOracle(t, key, 2, tweak)
	encrypted, decrypted := make([]uint64, len(src)), make([]uint64, len(src))
	for i, x := range src {
		encrypted[i], decrypted[i] = o.number(o.encrypt, bits, x), o.number(o.decrypt, bits, x)
		if y := c.Encrypt(x); y != encrypted[i] {
			t.Errorf("%d bits, key %x, tweak %x: %#x encrypts to %#x, want %#x", bits, key, tweak, x, y, encrypted[i])
		}
		if y := c.Decrypt(x); y != decrypted[i] {
			t.Errorf("%d bits, key %x, tweak %x: %#x decrypts to %#x, want %#x", bits, key, tweak, x, y, decrypted[i])
		}
	}
	all := append(slices.Clone(src), 7) // one number more, which must stay as it is
	if c.EncryptAll(all[:len(src)]); !slices.Equal(all, append(encrypted, 7)) {
		t.Errorf("%d bits, key %x, tweak %x: all of %x encrypt to %x, want %x", bits, key, tweak, src, all, encrypted)
	}
}

func TestOracle(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		size := draw.One(t, []int{16, 24, 32})
		key := t.Bytes(size, size)
		bits := t.Int(MinBits, MaxBits)
		tweak := t.Bytes(0, 70)
		src := make([]uint64, t.Int(0, 2*lanes+3))
		for i := range src {
			src[i] = t.Word() & mask(uint(bits))
		}
		check(t, key, bits, tweak, src)
	})
}

// TestEveryLength is there because the bytes that a half fills and the
// padding of the tweak change with both lengths.
func TestEveryLength(t *testing.T) {
	r := rand.NewChaCha8([32]byte{1})
	for bits := MinBits; bits <= MaxBits; bits++ {
		for length := range 34 {
			key, tweak := make([]byte, 16+8*(length%3)), make([]byte, length)
			_, _ = r.Read(key)
			_, _ = r.Read(tweak)
			top := mask(uint(bits))
			check(t, key, bits, tweak, []uint64{0, 1, top, top >> 1, r.Uint64() & top})
		}
	}
}

func TestNewErrors(t *testing.T) {
	for _, v := range []struct {
		key, bits, tweak int
		want             string
	}{
		{16, 19, 0, "19 bits, want 20 to 64"},
		{16, 65, 0, "65 bits, want 20 to 64"},
		{16, -1, 0, "-1 bits"},
		{0, 32, 0, "a key of 0 bytes, want 16, 24 or 32"},
		{17, 32, 0, "a key of 17 bytes"},
		{16, 32, MaxTweak + 1, "65537 bytes, want at most 65536"},
	} {
		if c, err := New(make([]byte, v.key), v.bits, make([]byte, v.tweak)); c != nil || err == nil ||
			!strings.Contains(err.Error(), v.want) {
			t.Errorf("New(%d, %d, %d): %v, %v; want an error with %q", v.key, v.bits, v.tweak, c, err, v.want)
		}
	}
	must(New(make([]byte, 16), 32, make([]byte, MaxTweak)))
}

// Bits above the cipher's stay as they are, so distinct numbers stay
// distinct.
func TestBitsAbove(t *testing.T) {
	for bits := MinBits; bits < MaxBits; bits++ {
		c := mustCipher(t, make([]byte, 16), bits, nil)
		for _, above := range []uint64{1 << bits, ^uint64(0) << bits} {
			x, all := above|5, []uint64{above | 5}
			c.EncryptAll(all)
			if y := c.Encrypt(x); y != above|c.Encrypt(5) || y != all[0] || c.Decrypt(y) != x {
				t.Errorf("%d bits: %#x became %#x and %#x, and came back as %#x", bits, x, y, all[0], c.Decrypt(y))
			}
		}
	}
}

// TestConcurrent is for the race detector: the ciphers of an ID service are
// shared.
func TestConcurrent(t *testing.T) {
	c := mustCipher(t, make([]byte, 16), 63, []byte("t"))
	want := c.Encrypt(5)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			x := make([]uint64, 19)
			for range 200 {
				for i := range x {
					x[i] = 5
				}
				c.EncryptAll(x)
				if one := c.Encrypt(5); one != want || slices.Min(x) != want || slices.Max(x) != want {
					t.Errorf("%d and %d, want %d", one, x, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestNoAllocation(t *testing.T) {
	c := mustCipher(t, make([]byte, 16), 63, []byte("t"))
	x := make([]uint64, 100)
	for name, f := range map[string]func(){
		"Encrypt":    func() { x[0] = c.Encrypt(x[0]) },
		"Decrypt":    func() { x[0] = c.Decrypt(x[0]) },
		"EncryptAll": func() { c.EncryptAll(x) },
	} {
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
