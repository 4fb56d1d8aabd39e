package ff1

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

const (
	// MinBits and MaxBits are the shortest and longest numbers, in bits.
	// 2^20 is the first power of two above the million inputs that the
	// standard's revision requires.
	MinBits = 20
	MaxBits = 64

	// MaxTweak is the longest tweak in bytes; the standard allows up to
	// 2^32 - 1.
	MaxTweak = 1 << 16

	rounds = 10
)

// A Cipher is FF1 for numbers of one length, under one key and tweak. It
// prints as [redacted]. It is safe for concurrent use.
type Cipher struct {
	// The keys stand behind two pointers, because fmt cannot call Format on
	// an unexported field: it prints that, and follows one pointer but
	// never two.
	secret **state
}

// state is the key and tables of a cipher. Nothing changes it.
type state struct {
	block cipher.Block

	// What AES encrypts in each round, as two big-endian numbers: the chain
	// of all blocks of P || Q but the last, xored with the constant bytes
	// of the last. Round i xors i << shift and the half's number into low.
	high, low uint64
	shift     uint

	// At the start and end the left half has the upper u bits of a number,
	// the right half the lower v.
	v            uint
	maskU, maskV uint64 // 2^u - 1, 2^v - 1
	top          uint64 // 2^bits - 1

	// A block passed to an interface escapes: each would be an allocation.
	scratch sync.Pool
}

// New makes a cipher for numbers below 2^bits. A key of 16, 24 or 32 bytes
// chooses AES-128, AES-192 or AES-256. The tweak is no secret and may be
// empty: two tweaks or lengths make two unrelated permutations. New copies
// both slices.
func New(key []byte, bits int, tweak []byte) (*Cipher, error) {
	if bits < MinBits || bits > MaxBits {
		return nil, fmt.Errorf("ff1: numbers of %d bits, want %d to %d", bits, MinBits, MaxBits)
	}
	if len(tweak) > MaxTweak {
		return nil, fmt.Errorf("ff1: a tweak of %d bytes, want at most %d", len(tweak), MaxTweak)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("ff1: a key of %d bytes, want 16, 24 or 32: %w", len(key), err)
	}
	n := uint(bits)
	u := n / 2
	s := &state{block: block, v: n - u, maskU: mask(u), maskV: mask(n - u), top: mask(n)}
	s.scratch.New = func() any { return new(scratch) }
	s.absorb(u, tweak)
	return &Cipher{secret: &s}, nil
}

// mask is 2^n - 1, for n from 1 to 64.
func mask(n uint) uint64 { return ^uint64(0) >> (64 - n) }

// absorb works out the constant part of the round function.
func (s *state) absorb(u uint, tweak []byte) {
	b := (s.v + 7) / 8
	s.shift = 8 * b

	p := []byte{1, 2, 1, 0, 0, 2, rounds, byte(u)}
	p = binary.BigEndian.AppendUint32(p, uint32(u+s.v))
	p = binary.BigEndian.AppendUint32(p, uint32(len(tweak)))
	p = append(p, tweak...)
	// Zeros of the padding, and where the round and the half will be.
	p = append(p, make([]byte, int(b)+1)...)
	if over := len(p) % aes.BlockSize; over != 0 {
		p = append(p, make([]byte, aes.BlockSize-over)...)
	}

	chain := make([]byte, aes.BlockSize)
	defer clear(chain)
	for ; len(p) > aes.BlockSize; p = p[aes.BlockSize:] {
		for i := range chain {
			chain[i] ^= p[i]
		}
		s.block.Encrypt(chain, chain)
	}
	s.high = binary.BigEndian.Uint64(chain) ^ binary.BigEndian.Uint64(p)
	s.low = binary.BigEndian.Uint64(chain[8:]) ^ binary.BigEndian.Uint64(p[8:])
}

// Format implements [fmt.Formatter]: whatever the verb, keys are not
// printed.
func (c Cipher) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "ff1.Cipher[redacted]") }
