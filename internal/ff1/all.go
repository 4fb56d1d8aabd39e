package ff1

import (
	"crypto/aes"
	"encoding/binary"
	"slices"
)

// lanes is how many numbers go through a round together. More gained
// nothing.
const lanes = 8

// EncryptAll is Encrypt of all numbers, in place.
func (c *Cipher) EncryptAll(all []uint64) {
	s := *c.secret
	buf := s.scratch.Get().(*scratch)
	for some := range slices.Chunk(all, lanes) {
		s.encryptLanes(some, buf)
	}
	clear(buf[:])
	s.scratch.Put(buf)
}

func (s *state) encryptLanes(some []uint64, buf *scratch) {
	var halves [2][lanes]uint64
	a, b := halves[0][:len(some)], halves[1][:len(some)]
	for j, x := range some {
		a[j], b[j] = x>>s.v&s.maskU, x&s.maskV
	}
	for i := uint64(0); i < rounds; i += 2 {
		s.roundLanes(i, b, buf)
		for j := range a {
			a[j] = (a[j] + y(buf, j)) & s.maskU
		}
		s.roundLanes(i+1, a, buf)
		for j := range b {
			b[j] = (b[j] + y(buf, j)) & s.maskV
		}
	}
	for j, x := range some {
		some[j] = x&^s.top | a[j]<<s.v | b[j]
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
