package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx512 has 32 blocks in a group.
//
// VPSHLDW rotates a word when it is given twice. VPTERNLOGD with xor3 is an
// xor of three things, one of which can be in memory and is spread over all
// lanes on its way.
type avx512 struct {
	c *build.Context
	// permutations of two registers: 16 blocks become their first words,
	// then their second ones; third and fourth
	toWords  [2]operand.Mem
	toBlocks [2]operand.Mem // and back: the first half of the blocks, the second half
	order    operand.Mem
}

const (
	xor3   = operand.U8(0x96)
	halves = operand.U8(0x44) // VSHUFI64X2: the lower halves of two registers
	uppers = operand.U8(0xee) // the upper halves
)

func newAVX512(c *build.Context) *avx512 {
	m := &avx512{c: c, order: words(c, "order512", 32, func(i int) int { return i })}
	for half := range 2 {
		m.toWords[half] = words(c, [...]string{"words01", "words23"}[half], 32, func(i int) int {
			return exchanged(i%16*8 + 2*(2*half+i/16))
		})
		m.toBlocks[half] = words(c, [...]string{"blocksLow", "blocksHigh"}[half], 32, func(i int) int {
			block, word := i/4+8*half, i%4
			return exchanged(word/2*64 + word%2*32 + 2*block)
		})
	}
	return m
}

func (m *avx512) blocks() int { return 32 } // in a group
func (m *avx512) sets() int   { return 4 }  // of registers: how many groups are woven; a power of two
func (m *avx512) each() int   { return 5 }  // registers in a set

func (m *avx512) registers() []register {
	return []register{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12,
		reg.Z13, reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24,
		reg.Z25,
	}
}

func (m *avx512) load(g *group, offset int) {
	l0, r0, l1, r1, t := g.l0, g.r0, g.l1, g.r1, g.t
	for i, to := range [][2]register{{l0, r0}, {l1, r1}} {
		g.emit(func() { m.c.VMOVDQU64(at(src, offset+128*i), t) })
		for j := range 2 {
			g.emit(func() { m.c.VMOVDQU64(m.toWords[j], to[j]) })
			g.emit(func() { m.c.VPERMI2B(at(src, offset+128*i+64), t, to[j]) })
		}
	}
	g.emit(func() { m.c.VSHUFI64X2(halves, l1, l0, t) })
	g.emit(func() { m.c.VSHUFI64X2(uppers, l1, l0, l0) })
	g.emit(func() { m.c.VSHUFI64X2(halves, r1, r0, l1) })
	g.emit(func() { m.c.VSHUFI64X2(uppers, r1, r0, r1) })
	g.l0, g.r0, g.t = t, l0, r0
}

func (m *avx512) store(g *group, offset int) {
	l0, r0, l1, r1, t := g.l0, g.r0, g.l1, g.r1, g.t
	g.emit(func() { m.c.VSHUFI64X2(halves, r0, l0, t) })
	g.emit(func() { m.c.VSHUFI64X2(uppers, r0, l0, l0) })
	g.emit(func() { m.c.VSHUFI64X2(halves, r1, l1, r0) })
	g.emit(func() { m.c.VSHUFI64X2(uppers, r1, l1, l1) })
	for i, from := range [][2]register{{t, r0}, {l0, l1}} {
		for j := range 2 {
			g.emit(func() { m.c.VMOVDQU64(m.toBlocks[j], r1) })
			g.emit(func() { m.c.VPERMI2B(from[1], from[0], r1) })
			g.emit(func() { m.c.VMOVDQU64(r1, at(dst, offset+128*i+64*j)) })
		}
	}
}

func (m *avx512) rotate(g *group, n int, x register) { m.rotated(g, n, x, x) }

func (m *avx512) rotated(g *group, n int, from, to register) {
	g.emit(func() { m.c.VPSHLDW(operand.U8(n), from, from, to) })
}

func (m *avx512) rotate8(g *group, from, to register) { m.rotated(g, 8, from, to) }

func (m *avx512) rotate2And10(g *group, x, t register) {
	m.rotated(g, 10, x, t)
	m.rotated(g, 2, x, x)
}

func (m *avx512) xor(g *group, x, to register) {
	g.emit(func() { m.c.VPXORD(x, to, to) })
}

func (m *avx512) xorBoth(g *group, x, y, to register) {
	g.emit(func() { m.c.VPTERNLOGD(xor3, x, y, to) })
}

func (m *avx512) xorWord(g *group, word operand.Mem, from, to register) {
	g.emit(func() { m.c.VPXORD_BCST(word, from, to) })
}

func (m *avx512) xorWordAnd(g *group, word operand.Mem, x, to register) {
	g.emit(func() { m.c.VPTERNLOGD_BCST(xor3, word, x, to) })
}
