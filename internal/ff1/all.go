package ff1

import (
	"crypto/aes"
	"encoding/binary"
	"fmt"
)

// lanes is how many numbers go through a round together. More gained
// nothing.
const lanes = 8

// halves are the two parts of numbers that go through the rounds together.
type halves [lanes]uint64

// EncryptAll encrypts src into dst. They may be the same, but must not
// overlap otherwise. It is an error if dst is shorter, or a number has more
// bits than the cipher; dst is then unchanged.
func (c *Cipher) EncryptAll(dst, src []uint64) error {
	s, err := c.ready(dst, src)
	if err != nil {
		return err
	}
	buf := s.scratch.Get().(*scratch)
	for len(src) > 0 {
		n := min(len(src), lanes)
		s.encryptLanes(dst[:n], src[:n], buf)
		dst, src = dst[n:], src[n:]
	}
	clear(buf[:])
	s.scratch.Put(buf)
	return nil
}

// DecryptAll is the inverse of EncryptAll.
func (c *Cipher) DecryptAll(dst, src []uint64) error {
	s, err := c.ready(dst, src)
	if err != nil {
		return err
	}
	buf := s.scratch.Get().(*scratch)
	for len(src) > 0 {
		n := min(len(src), lanes)
		s.decryptLanes(dst[:n], src[:n], buf)
		dst, src = dst[n:], src[n:]
	}
	clear(buf[:])
	s.scratch.Put(buf)
	return nil
}

// ready makes all checks of a batch before anything is written.
func (c *Cipher) ready(dst, src []uint64) (*state, error) {
	s, err := c.state()
	if err != nil {
		return nil, err
	}
	if len(dst) < len(src) {
		return nil, fmt.Errorf("ff1: room for %d numbers, want %d", len(dst), len(src))
	}
	for i, x := range src {
		if err := s.checkRange(x); err != nil {
			return nil, fmt.Errorf("%w (number %d of %d)", err, i+1, len(src))
		}
	}
	return s, nil
}

func (s *state) encryptLanes(dst, src []uint64, buf *scratch) {
	var a, b halves
	n := s.split(&a, &b, src)
	for i := uint64(0); i < rounds; i += 2 {
		s.roundLanes(i, b[:n], buf)
		for j := range a[:n] {
			a[j] = (a[j] + y(buf, j)) & s.maskU
		}
		s.roundLanes(i+1, a[:n], buf)
		for j := range b[:n] {
			b[j] = (b[j] + y(buf, j)) & s.maskV
		}
	}
	s.join(dst, &a, &b)
}

func (s *state) decryptLanes(dst, src []uint64, buf *scratch) {
	var a, b halves
	n := s.split(&a, &b, src)
	for i := uint64(rounds); i > 0; i -= 2 {
		s.roundLanes(i-1, a[:n], buf)
		for j := range b[:n] {
			b[j] = (b[j] - y(buf, j)) & s.maskV
		}
		s.roundLanes(i-2, b[:n], buf)
		for j := range a[:n] {
			a[j] = (a[j] - y(buf, j)) & s.maskU
		}
	}
	s.join(dst, &a, &b)
}

func (s *state) split(a, b *halves, src []uint64) int {
	for j, x := range src {
		a[j], b[j] = x>>s.v, x&s.maskV
	}
	return len(src)
}

func (s *state) join(dst []uint64, a, b *halves) {
	for j := range dst {
		dst[j] = a[j]<<s.v | b[j]
	}
}

// roundLanes is the round function of a few numbers. It writes all blocks
// before it reads the first: AES reads two stores as one, which is slow
// soon after them.
func (s *state) roundLanes(i uint64, half []uint64, buf *scratch) {
	low := s.low ^ i<<s.shift
	for j, h := range half {
		binary.BigEndian.PutUint64(buf[j][:], s.high)
		binary.BigEndian.PutUint64(buf[j][8:], low^h)
	}
	for j := range half {
		block := buf[j][:aes.BlockSize]
		s.block.Encrypt(block, block)
	}
}

// y reads the result of roundLanes for a number, modulo 2^32.
func y(buf *scratch, j int) uint64 { return uint64(binary.BigEndian.Uint32(buf[j][4:])) }
