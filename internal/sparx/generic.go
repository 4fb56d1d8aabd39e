// Package sparx is the block cipher SPARX-64/128 (Dinu, Perrin, Udovenko,
// Velichkov, Großschädl, Biryukov: "Design Strategies for ARX with Provable
// Bounds: SPARX and LAX", Asiacrypt 2016), which turns a 64-bit number into
// another one under a key of 128 bits.
//
// # The cipher
//
// A block is four words of 16 bits, x0 to x3, each written with its high
// byte first. Two words are a branch: (x0, x1) and (x2, x3). All additions
// are modulo 2^16; rotl and rotr rotate a word.
//
// The one part that is not linear is A, a round of the cipher Speck without
// its key:
//
//	A(l, r):   l = rotr(l, 7) + r
//	           r = rotl(r, 2) xor l
//
// A step gives each branch three rounds, each after the xor of two words of
// the key schedule, and then mixes the branches. There are eight steps, and
// at the end (x0, x1, x2, x3) are xored with four more words:
//
//	step:      three times for each branch (l, r), with its own key words
//	               l, r = A(l xor kl, r xor kr)
//	           t = rotl(x0 xor x1, 8)
//	           x0, x1, x2, x3 = x2 xor x0 xor t, x3 xor x1 xor t, x0, x1
//
// The key schedule holds the key as eight words in four pairs. The first
// three pairs are the keys of the three rounds of one branch. Then the
// pairs are stirred, and serve the other branch, and so on. The first two
// pairs after the last of the sixteen stirs are the four words for the end.
//
//	stir i:    (k0, k1) = A(k0, k1)
//	(1 to 16)  k2, k3, k7 = k2 + k0, k3 + k1, k7 + i
//	           k0, ..., k7 = k6, k7, k0, ..., k5
//
// # Additions
//
// Numbers instead of blocks: Randflake IDs are little-endian bytes in the
// cipher's block. So word x0 holds the lowest 16 bits of the number with
// their two bytes exchanged, x1 the next, and the result is read back the
// same way.
//
// The oracle of the tests is the specification once more, slow and plain.
// There are three ways here, all with the same results:
//
//	one.go         one block, unrolled
//	swar.go        four blocks in the lanes of uint64, in plain Go
//	avx512_amd64.s thirty-two blocks, with the rotations of VBMI2, and four groups at once
//
// The program in _asm writes the last one.
//
// # Constant time
//
// No instruction here has a time that depends on a key or on a block: there
// are additions, subtractions, xors, masks, shuffles of bytes in a fixed
// order, and rotations and shifts by constants; no tables, no branches and
// no addresses that depend on secrets. Branches and addresses depend on the
// number of blocks alone and, in EncryptCounter, on the start and the step:
// their low 16 bits decide where a run ends. It must stay so: a change of
// this package keeps to these operations.
package sparx

import "math/bits"

const (
	steps    = 8
	rounds   = 3
	branches = 2

	// keyWords is the length of a key schedule: two words for each round of
	// each branch, and four for the end.
	keyWords = steps*branches*rounds*2 + 4
)

// words is a key schedule in the order of the specification: by step,
// branch and round.
type words [keyWords]uint16

// expand makes the key schedule of a key.
func (w *words) expand(key *[KeySize]byte) {
	var k [8]uint16
	for i := range k {
		k[i] = uint16(key[2*i])<<8 | uint16(key[2*i+1])
	}
	n := 0
	for i := range uint16(steps * branches) {
		n += copy(w[n:], k[:2*rounds])
		k[0], k[1] = round(k[0], k[1])
		k[2] += k[0]
		k[3] += k[1]
		k[7] += i + 1
		k = [8]uint16{k[6], k[7], k[0], k[1], k[2], k[3], k[4], k[5]}
	}
	copy(w[n:], k[:])
	clear(k[:])
}

// round is A.
func round(l, r uint16) (uint16, uint16) {
	l = bits.RotateLeft16(l, -7) + r
	return l, bits.RotateLeft16(r, 2) ^ l
}

// split takes a block apart into its words.
func split(v uint64) [4]uint16 {
	return [4]uint16{uint16(v >> 48), uint16(v >> 32), uint16(v >> 16), uint16(v)}
}

func join(x [4]uint16) uint64 {
	return uint64(x[0])<<48 | uint64(x[1])<<32 | uint64(x[2])<<16 | uint64(x[3])
}
