package sparx

import "math/bits"

// Four blocks at once, in plain Go: a uint64 has four lanes of 16 bits,
// with the same word of four blocks.
//
// A sum must not carry into the next lane. So lanes are added without their
// top bits, and a top bit is the xor of both top bits and the carry that
// arrived there.
const (
	everyLane = 0x0001_0001_0001_0001
	top       = 0x8000 * everyLane
	low15     = 0x7fff * everyLane
	low14     = 0x3fff * everyLane
	low10     = 0x03ff * everyLane
	low9      = 0x01ff * everyLane
	low6      = 0x003f * everyLane
	low2      = 0x0003 * everyLane
	from9to14 = low15 &^ low9
)

// addRotated returns rotl(l, 9) + r in each lane. The two parts of the
// rotated l share no bit, so it adds them apart.
func addRotated(l, r uint64) uint64 {
	return (l>>7&low9 + r&low15 + l<<9&from9to14) ^ (l<<9^r)&top
}

func rotl2(v uint64) uint64  { return v&low14<<2 | v>>14&low2 }
func rotl10(v uint64) uint64 { return v&low6<<10 | v>>6&low10 }

// encryptFour is encryptOne for four numbers, in place.
func (k *schedule) encryptFour(x *[4]uint64) {
	l0, r0, l1, r1 := gather(x)
	w := &k.enc
	l0, r0, l1, r1 = l0^w[0], r0^w[1], l1^w[6], r1^w[7]
	for i := 0; i < steps*stepWords; i += stepWords {
		s := (*[stepWords + 8]uint64)(w[i:])

		l0 = addRotated(l0, r0)
		l1 = addRotated(l1, r1)
		r0 = rotl2(r0) ^ s[3] ^ l0
		r1 = rotl2(r1) ^ s[9] ^ l1
		l0 = addRotated(l0^s[2], r0)
		l1 = addRotated(l1^s[8], r1)
		r0 = rotl2(r0) ^ s[5] ^ l0
		r1 = rotl2(r1) ^ s[11] ^ l1

		early, t := rotl2(r0), rotl10(r0)^s[12]
		both := early ^ rotl2(r1) ^ s[13]
		x0 := addRotated(l0^s[4], r0)
		x2 := addRotated(l1^s[10], r1)
		l0 = x0 ^ x2 ^ t
		r0 = l0 ^ both
		l1 = x0 ^ s[18]
		r1 = x0 ^ early ^ s[19]
	}
	scatter(x, l0, r0, l1, r1)
}

// gather brings the same words of four numbers together: it reverses all
// bytes, which makes x0 the highest word, and exchanges halves and then
// words. scatter is its inverse, so the lane of a number does not matter.
func gather(src *[4]uint64) (x0, x1, x2, x3 uint64) {
	a, b := bits.ReverseBytes64(src[0]), bits.ReverseBytes64(src[1])
	c, d := bits.ReverseBytes64(src[2]), bits.ReverseBytes64(src[3])
	return exchange(a, b, c, d)
}

// scatter is the inverse of gather.
func scatter(dst *[4]uint64, x0, x1, x2, x3 uint64) {
	a, b, c, d := exchange(x0, x1, x2, x3)
	dst[0], dst[1] = bits.ReverseBytes64(a), bits.ReverseBytes64(b)
	dst[2], dst[3] = bits.ReverseBytes64(c), bits.ReverseBytes64(d)
}

// exchange transposes a 4 × 4 matrix of words: the first row is a, and its
// first column the highest word.
func exchange(a, b, c, d uint64) (_, _, _, _ uint64) {
	const low32, odd = 1<<32 - 1, 0x0000_ffff_0000_ffff
	a, c = a&^low32|c>>32, a<<32|c&low32
	b, d = b&^low32|d>>32, b<<32|d&low32
	a, b = a&^odd|b>>16&odd, a&odd<<16|b&odd
	c, d = c&^odd|d>>16&odd, c&odd<<16|d&odd
	return a, b, c, d
}
