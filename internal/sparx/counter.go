package sparx

import "math/bits"

// EncryptCounter fills dst with the encryptions of start, start + step,
// start + 2 × step, …, modulo 2^64. With a small step it is faster than
// EncryptBlocks: numbers that differ in their lowest 16 bits share most of
// the cipher's first step.
func (c *Cipher) EncryptCounter(dst []uint64, start, step uint64) {
	group := groupOf(c.path)

	// With a larger step, runs would be shorter than a group.
	if group == 0 || step > 1<<16/uint64(group) {
		next := start
		for i := range dst {
			dst[i] = next
			next += step
		}
		c.EncryptBlocks(dst)
		return
	}
	for len(dst) > 0 {
		n := min(len(dst), maxCall)
		if step > 0 {
			n = int(min(uint64(n), (0xffff-start&0xffff)/step+1))
		}
		c.encryptRun(dst[:n], start, step, group)
		dst = dst[n:]
		start += uint64(n) * step
	}
}

// encryptRun is EncryptCounter for numbers that differ in their lowest 16
// bits.
func (c *Cipher) encryptRun(dst []uint64, start, step uint64, group int) {
	k := c.keys()
	if len(dst) >= worthGroup {
		s := k.seed(start, step)
		if whole := len(dst) / group * group; whole > 0 {
			k.counterGroups(dst[:whole], &s)
			dst = dst[whole:]
			start += uint64(whole) * step
			s.restart(start)
		}
		if len(dst) >= worthGroup {
			var buf [maxGroup]uint64
			k.counterGroups(buf[:group], &s)
			copy(dst, buf[:])
			return
		}
	}
	for i := range dst {
		dst[i] = c.Encrypt64(start)
		start += step
	}
}

// A seed is the common part of a run's numbers: the first step of the
// cipher without the first word. The vector code knows the order (layout.go
// in its generator). Each word stands in all lanes.
type seed [6]uint64

// seed does the first step without the first word: the start of its
// branch's first round, and the other branch up to the mixing.
func (k *schedule) seed(start, step uint64) seed {
	v := bits.ReverseBytes64(start)
	r0 := uint16(v>>32) ^ uint16(k.enc[1])
	l1, r1 := uint16(v>>16)^uint16(k.enc[6]), uint16(v)^uint16(k.enc[7])
	for i := 8; i <= 10; i += 2 {
		l1 = bits.RotateLeft16(l1, -7) + r1
		r1 = bits.RotateLeft16(r1, 2) ^ l1 ^ uint16(k.enc[i+1])
		l1 ^= uint16(k.enc[i])
	}
	s := seed{
		1: step * everyLane,
		2: uint64(r0) * everyLane,
		3: uint64(bits.RotateLeft16(r0, 2))*everyLane ^ k.enc[3],
		4: uint64(bits.RotateLeft16(l1, -7)+r1) * everyLane,
		5: uint64(bits.RotateLeft16(r1, 2))*everyLane ^ k.enc[stepWords+1],
	}
	s.restart(start)
	return s
}

// restart makes a number of the same run the first one.
func (s *seed) restart(start uint64) { s[0] = start & 0xffff * everyLane }
