package sparx

import "math/bits"

// The functions of this file are words.encrypt and words.decrypt unrolled
// by a step. A block is a single chain of operations that wait for each
// other, so what makes it fast is a shorter chain:
//
//   - The key words of a round are xored in as the words come out of the
//     round before, where one of the two has time for it.
//   - After a round, x1 is rotl(r, 2) xor x0, so x0 xor x1 is known before
//     x0 is, and the t of the mixing is r rotated by 10.
//   - The early words (t, the keys, the rotated words) are summed up before
//     the late x0 and x2 arrive.
//
// swar.go and the vector instructions do the same.

// encryptOne encrypts a block with the bytes of v, the highest first.
func (k *schedule) encryptOne(v uint64) uint64 {
	w := &k.enc
	l0, r0 := uint16(v>>48)^uint16(w[0]), uint16(v>>32)^uint16(w[1])
	l1, r1 := uint16(v>>16)^uint16(w[6]), uint16(v)^uint16(w[7])
	for i := 0; i < steps*stepWords; i += stepWords {
		s := (*[stepWords + 8]uint64)(w[i:]) // the words of this step, and the first round's of the next

		l0 = bits.RotateLeft16(l0, -7) + r0
		l1 = bits.RotateLeft16(l1, -7) + r1
		r0 = bits.RotateLeft16(r0, 2) ^ uint16(s[3]) ^ l0
		r1 = bits.RotateLeft16(r1, 2) ^ uint16(s[9]) ^ l1
		l0 = bits.RotateLeft16(l0^uint16(s[2]), -7) + r0
		l1 = bits.RotateLeft16(l1^uint16(s[8]), -7) + r1
		r0 = bits.RotateLeft16(r0, 2) ^ uint16(s[5]) ^ l0
		r1 = bits.RotateLeft16(r1, 2) ^ uint16(s[11]) ^ l1

		early := bits.RotateLeft16(r0, 2)
		t := bits.RotateLeft16(r0, 10) ^ uint16(s[12])
		both := early ^ bits.RotateLeft16(r1, 2) ^ uint16(s[13])
		x0 := bits.RotateLeft16(l0^uint16(s[4]), -7) + r0
		x2 := bits.RotateLeft16(l1^uint16(s[10]), -7) + r1
		l0 = x0 ^ x2 ^ t
		r0 = l0 ^ both
		l1 = x0 ^ uint16(s[18])
		r1 = x0 ^ (early ^ uint16(s[19]))
	}
	return join([4]uint16{l0, r0, l1, r1})
}

// decryptOne is the inverse of encryptOne.
func (k *schedule) decryptOne(v uint64) uint64 {
	x := split(v)
	w := &k.dec
	l0, r0, l1, r1 := x[0], x[1], x[2], x[3] // each still with its words of the step after
	for i := (steps - 1) * stepWords; i >= 0; i -= stepWords {
		s := (*[stepWords + 8]uint64)(w[i:])

		// r0 and r1 become the two words of their branch xored: the inverse
		// of a round needs no more.
		r1 = l1 ^ (r1 ^ uint16(s[19]))
		r0 = l0 ^ (r0 ^ uint16(s[13])) ^ r1
		l1 ^= uint16(s[18])
		l0 ^= uint16(s[12]) ^ l1 ^ bits.RotateLeft16(r1, 8)
		l0, r0, l1, r1 = l1, r1, l0, r0

		r0 = bits.RotateLeft16(r0, -2)
		r1 = bits.RotateLeft16(r1, -2)
		l0 = bits.RotateLeft16(l0-r0, 7)
		l1 = bits.RotateLeft16(l1-r1, 7)
		r0 = bits.RotateLeft16(l0^(r0^uint16(s[5])), -2)
		r1 = bits.RotateLeft16(l1^(r1^uint16(s[11])), -2)
		l0 = bits.RotateLeft16((l0^uint16(s[4]))-r0, 7)
		l1 = bits.RotateLeft16((l1^uint16(s[10]))-r1, 7)
		r0 = bits.RotateLeft16(l0^(r0^uint16(s[3])), -2)
		r1 = bits.RotateLeft16(l1^(r1^uint16(s[9])), -2)
		l0 = bits.RotateLeft16((l0^uint16(s[2]))-r0, 7)
		l1 = bits.RotateLeft16((l1^uint16(s[8]))-r1, 7)
	}
	return join([4]uint16{l0 ^ uint16(w[0]), r0 ^ uint16(w[1]), l1 ^ uint16(w[6]), r1 ^ uint16(w[7])})
}
