package sparx

import "math/bits"

// unround is the inverse of A.
func unround(l, r uint16) (uint16, uint16) {
	r = bits.RotateLeft16(r^l, -2)
	return bits.RotateLeft16(l-r, 7), r
}

// encrypt encrypts a block with the bytes of v, the highest first.
func (w *words) encrypt(v uint64) uint64 {
	x := split(v)
	k := w[:]
	for range steps {
		for b := 0; b < 4; b += 2 {
			for range rounds {
				x[b], x[b+1] = round(x[b]^k[0], x[b+1]^k[1])
				k = k[2:]
			}
		}
		t := bits.RotateLeft16(x[0]^x[1], 8)
		x = [4]uint16{x[2] ^ x[0] ^ t, x[3] ^ x[1] ^ t, x[0], x[1]}
	}
	for i := range x {
		x[i] ^= k[i]
	}
	return join(x)
}

// decrypt is the inverse of encrypt, from its last line to its first.
func (w *words) decrypt(v uint64) uint64 {
	x := split(v)
	k := w[:]
	for i := range x {
		x[i] ^= k[len(k)-4+i]
	}
	k = k[:len(k)-4]
	for range steps {
		t := bits.RotateLeft16(x[2]^x[3], 8)
		x = [4]uint16{x[2], x[3], x[0] ^ x[2] ^ t, x[1] ^ x[3] ^ t}
		for b := 2; b >= 0; b -= 2 {
			for range rounds {
				l, r := unround(x[b], x[b+1])
				x[b], x[b+1] = l^k[len(k)-2], r^k[len(k)-1]
				k = k[:len(k)-2]
			}
		}
	}
	return join(x)
}
