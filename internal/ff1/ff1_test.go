package ff1

import (
	"errors"
	"fmt"
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
		if y, err := c.Encrypt(x); err != nil || y != encrypted[i] {
			t.Errorf("%d bits, key %x, tweak %x: %#x encrypts to %#x (%v), want %#x",
				bits, key, tweak, x, y, err, encrypted[i])
		}
		if y, err := c.Decrypt(x); err != nil || y != decrypted[i] {
			t.Errorf("%d bits, key %x, tweak %x: %#x decrypts to %#x (%v), want %#x",
				bits, key, tweak, x, y, err, decrypted[i])
		}
		if back, err := c.Decrypt(encrypted[i]); err != nil || back != x {
			t.Errorf("%d bits, key %x, tweak %x: %#x came back as %#x (%v)", bits, key, tweak, x, back, err)
		}
	}
	// One number more in dst, which must stay as it is.
	dst := append(slices.Clone(src), 7)
	if err := c.EncryptAll(dst, src); err != nil || !slices.Equal(dst[:len(src)], encrypted) || dst[len(src)] != 7 {
		t.Errorf("%d bits, key %x, tweak %x: all of %x encrypt to %x (%v), want %x",
			bits, key, tweak, src, dst, err, encrypted)
	}
	dst = append(slices.Clone(src), 7)
	if err := c.DecryptAll(dst[:len(src)], dst[:len(src)]); err != nil || !slices.Equal(dst[:len(src)], decrypted) ||
		dst[len(src)] != 7 {
		t.Errorf("%d bits, key %x, tweak %x: all of %x decrypt to %x (%v), want %x",
			bits, key, tweak, src, dst, err, decrypted)
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
	if _, err := New(make([]byte, 16), 32, make([]byte, MaxTweak)); err != nil {
		t.Error(err)
	}
}

// TestRange also looks whether a batch that fails leaves dst alone, and
// whether the error keeps the number to itself.
func TestRange(t *testing.T) {
	for bits := MinBits; bits < MaxBits; bits++ {
		c := mustCipher(t, make([]byte, 16), bits, nil)
		if c.Bits() != bits {
			t.Errorf("%d bits, want %d", c.Bits(), bits)
		}
		for _, x := range []uint64{1 << bits, 1<<bits + 12345, ^uint64(0)} {
			dst := make([]uint64, 12)
			src := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, x, 12}
			_, err1 := c.Encrypt(x)
			_, err2 := c.Decrypt(x)
			err3, err4 := c.EncryptAll(dst, src), c.DecryptAll(dst, src)
			for _, err := range []error{err1, err2, err3, err4} {
				want := fmt.Sprintf("want at most %d", bits)
				if err == nil || strings.Contains(err.Error(), fmt.Sprint(x)) || !strings.Contains(err.Error(), want) {
					t.Errorf("%d bits: %v", bits, err)
				}
			}
			if !strings.Contains(fmt.Sprint(err3), "number 11 of 12") {
				t.Error(err3)
			}
			if slices.Max(dst) != 0 {
				t.Error("a batch that failed was written in part")
			}
		}
	}
	c := mustCipher(t, make([]byte, 16), 40, nil)
	if err := c.EncryptAll(make([]uint64, 2), make([]uint64, 3)); err == nil ||
		!strings.Contains(err.Error(), "room for 2 numbers, want 3") {
		t.Error(err)
	}
	if err := errors.Join(c.EncryptAll(nil, nil), c.DecryptAll(make([]uint64, 1), nil)); err != nil {
		t.Error(err)
	}
}

// TestConcurrent is for the race detector: the ciphers of an ID service are
// shared.
func TestConcurrent(t *testing.T) {
	c := mustCipher(t, make([]byte, 16), 63, []byte("t"))
	want := must(c.Encrypt(5))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			x := make([]uint64, 19)
			for range 200 {
				for i := range x {
					x[i] = 5
				}
				one, err := c.Encrypt(5)
				if err := errors.Join(err, c.EncryptAll(x, x)); err != nil || one != want || slices.Min(x) != want ||
					slices.Max(x) != want {
					t.Errorf("%v: %d and %d, want %d", err, one, x, want)
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
	for name, f := range map[string]func() error{
		"Encrypt":    func() (err error) { x[0], err = c.Encrypt(x[0]); return err },
		"Decrypt":    func() (err error) { x[0], err = c.Decrypt(x[0]); return err },
		"EncryptAll": func() error { return c.EncryptAll(x, x) },
		"DecryptAll": func() error { return c.DecryptAll(x, x) },
	} {
		if n := testing.AllocsPerRun(200, func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
