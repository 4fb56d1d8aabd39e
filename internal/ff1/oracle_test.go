package ff1

import (
	"crypto/aes"
	"crypto/cipher"
	"math/big"
)

// oracle is FF1 for any radix, step by step as SP 800-38G writes it, with
// its names: algorithms 7 and 8, steps in the comments.
type oracle struct {
	block cipher.Block
	radix int
	tweak []byte
}

func newOracle(t interface{ Fatal(...any) }, key []byte, radix int, tweak []byte) oracle {
	block := must(aes.NewCipher(key))
	return oracle{block, radix, tweak}
}

// ciph is CIPH, AES of one block.
func (o oracle) ciph(in []byte) []byte {
	out := make([]byte, 16)
	o.block.Encrypt(out, in)
	return out
}

// prf is algorithm 6.
func (o oracle) prf(x []byte) []byte {
	y := make([]byte, 16)
	for ; len(x) > 0; x = x[16:] {
		y = o.ciph(xor(y, x[:16]))
	}
	return y
}

func xor(a, b []byte) []byte {
	c := make([]byte, len(a))
	for i := range a {
		c[i] = a[i] ^ b[i]
	}
	return c
}

// num is NUM_radix, algorithm 1.
func (o oracle) num(x []uint16) *big.Int {
	n := new(big.Int)
	for _, d := range x {
		n.Mul(n, big.NewInt(int64(o.radix)))
		n.Add(n, big.NewInt(int64(d)))
	}
	return n
}

// str is STR of m numerals, algorithm 3.
func (o oracle) str(n *big.Int, m int) []uint16 {
	n = new(big.Int).Set(n)
	x := make([]uint16, m)
	for i := m - 1; i >= 0; i-- {
		d := new(big.Int)
		n.DivMod(n, big.NewInt(int64(o.radix)), d)
		x[i] = uint16(d.Int64())
	}
	return x
}

// bytesOf is [n] of a number in so many bytes.
func bytesOf(n *big.Int, size int) []byte { return n.FillBytes(make([]byte, size)) }

func (o oracle) pow(m int) *big.Int {
	return new(big.Int).Exp(big.NewInt(int64(o.radix)), big.NewInt(int64(m)), nil)
}

// y is steps 6.i to 6.v for the half that goes into the round function, in
// a message of n numerals.
func (o oracle) y(n, i int, half []uint16) *big.Int {
	u := n / 2 // step 1
	v := n - u
	// Step 3: ceil(v * log2(radix)) is the number of bits of radix^v - 1,
	// without floating point.
	bits := new(big.Int).Sub(o.pow(v), big.NewInt(1)).BitLen()
	b := (bits + 7) / 8
	d := 4*((b+3)/4) + 4 // step 4
	p := []byte{1, 2, 1} // step 5
	p = append(p, bytesOf(big.NewInt(int64(o.radix)), 3)...)
	p = append(p, 10, byte(u%256))
	p = append(p, bytesOf(big.NewInt(int64(n)), 4)...)
	p = append(p, bytesOf(big.NewInt(int64(len(o.tweak))), 4)...)
	q := append([]byte(nil), o.tweak...) // step 6.i
	pad := (-len(o.tweak) - b - 1) % 16
	if pad < 0 {
		pad += 16
	}
	q = append(q, make([]byte, pad)...)
	q = append(q, byte(i))
	q = append(q, bytesOf(o.num(half), b)...)
	r := o.prf(append(p, q...))    // step 6.ii
	s := append([]byte(nil), r...) // step 6.iii
	for j := int64(1); len(s) < d; j++ {
		s = append(s, o.ciph(xor(r, bytesOf(big.NewInt(j), 16)))...)
	}
	return new(big.Int).SetBytes(s[:d]) // step 6.iv
}

func (o oracle) encrypt(x []uint16) []uint16 {
	n := len(x)
	u := n / 2
	a, b := x[:u], x[u:]
	for i := range 10 {
		m := u
		if i%2 == 1 {
			m = n - u
		}
		c := o.num(a)
		c.Add(c, o.y(n, i, b))
		c.Mod(c, o.pow(m))
		a, b = b, o.str(c, m)
	}
	return append(append([]uint16(nil), a...), b...)
}

func (o oracle) decrypt(x []uint16) []uint16 {
	n := len(x)
	u := n / 2
	a, b := x[:u], x[u:]
	for i := 9; i >= 0; i-- {
		m := u
		if i%2 == 1 {
			m = n - u
		}
		c := o.num(b)
		c.Sub(c, o.y(n, i, a))
		c.Mod(c, o.pow(m)) // of big.Int: never negative
		a, b = o.str(c, m), a
	}
	return append(append([]uint16(nil), a...), b...)
}

// number runs a direction of the oracle in binary.
func (o oracle) number(run func([]uint16) []uint16, bits int, x uint64) uint64 {
	return o.num(run(o.str(new(big.Int).SetUint64(x), bits))).Uint64()
}
