package ff1

import (
	"crypto/aes"
	"encoding/binary"
)

// scratch is the memory of AES: a block for each number in a round.
type scratch [lanes][aes.BlockSize]byte

// Encrypt encrypts the low bits of a number, as many as the cipher has, and
// leaves those above.
func (c *Cipher) Encrypt(x uint64) uint64 { return (*c.secret).withScratch(x, (*state).encrypt) }

// Decrypt is the inverse of Encrypt.
func (c *Cipher) Decrypt(y uint64) uint64 { return (*c.secret).withScratch(y, (*state).decrypt) }

func (s *state) withScratch(x uint64, f func(s *state, x uint64, buf []byte) uint64) uint64 {
	buf := s.scratch.Get().(*scratch)
	y := f(s, x, buf[0][:])
	clear(buf[0][:])
	s.scratch.Put(buf)
	return y
}

// encrypt takes two rounds at a time, after which the halves are back in
// their places and every mask is constant.
func (s *state) encrypt(x uint64, buf []byte) uint64 {
	a, b := x>>s.v&s.maskU, x&s.maskV
	for i := uint64(0); i < rounds; i += 2 {
		a = (a + s.round(i, b, buf)) & s.maskU
		b = (b + s.round(i+1, a, buf)) & s.maskV
	}
	return x&^s.top | a<<s.v | b
}

func (s *state) decrypt(y uint64, buf []byte) uint64 {
	a, b := y>>s.v&s.maskU, y&s.maskV
	for i := uint64(rounds); i > 0; i -= 2 {
		b = (b - s.round(i-1, a, buf)) & s.maskV
		a = (a - s.round(i-2, b, buf)) & s.maskU
	}
	return y&^s.top | a<<s.v | b
}

// round is y of a round modulo 2^32, all that is needed.
func (s *state) round(i, half uint64, buf []byte) uint64 {
	binary.BigEndian.PutUint64(buf, s.high)
	binary.BigEndian.PutUint64(buf[8:], s.low^i<<s.shift^half)
	s.block.Encrypt(buf, buf)
	return uint64(binary.BigEndian.Uint32(buf[4:]))
}
