package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx2 has 16 blocks in a group. It rotates with two shifts, and by 8 with a shuffle of
// bytes, and needs a register to spread a key word into.
type avx2 struct {
	c        *build.Context
	toWords  operand.Mem // shuffle of two blocks: their first words, their second ones and so on
	toBlocks operand.Mem // and back
	swap     operand.Mem // shuffle that exchanges the bytes of each word
	order    operand.Mem
}

const (
	evens = operand.U8(0x88) // VSHUFPS: the even doublewords of two registers
	odds  = operand.U8(0xdd) // the odd ones
)

func newAVX2(c *build.Context) isa {
	return &avx2{
		c: c,
		toWords: words(c, "words", 16, func(i int) int {
			return exchanged(i%2*8 + i%8/2*2)
		}),
		toBlocks: words(c, "blocks", 16, func(i int) int {
			return exchanged(i%4*4 + i%8/4*2)
		}),
		swap: words(c, "swap", 16, func(i int) int { return exchanged(2 * i % 16) }),
		// In the lower half of a register are the first two blocks of each four, in the
		// upper half the others.
		order: words(c, "order256", 16, func(i int) int { return i/8*2 + i%8/2*4 + i%2 }),
	}
}

func (m *avx2) code() *build.Context { return m.c }
func (m *avx2) blocks() int          { return 16 }
func (m *avx2) sets() int            { return 2 }
func (m *avx2) each() int            { return 6 }
func (m *avx2) lanes() operand.Mem   { return m.order }

func (m *avx2) registers() []register {
	return []register{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
		reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
	}
}

func (m *avx2) load(g *group, offset int) {
	l0, r0, l1, r1, t, u := g.l0, g.r0, g.l1, g.r1, g.t, g.u
	for i, to := range []register{l0, r0, l1, r1} {
		g.emit(func() { m.c.VMOVDQU(at(src, offset+32*i), to) })
		g.emit(func() { m.c.VPSHUFB(m.toWords, to, to) })
	}
	g.emit(func() { m.c.VPUNPCKLDQ(r0, l0, t) })
	g.emit(func() { m.c.VPUNPCKHDQ(r0, l0, l0) })
	g.emit(func() { m.c.VPUNPCKLDQ(r1, l1, u) })
	g.emit(func() { m.c.VPUNPCKHDQ(r1, l1, l1) })
	g.emit(func() { m.c.VPUNPCKLQDQ(u, t, r0) })
	g.emit(func() { m.c.VPUNPCKHQDQ(u, t, r1) })
	g.emit(func() { m.c.VPUNPCKLQDQ(l1, l0, t) })
	g.emit(func() { m.c.VPUNPCKHQDQ(l1, l0, u) })
	g.l0, g.r0, g.l1, g.r1, g.t, g.u = r0, r1, t, u, l0, l1
}

func (m *avx2) store(g *group, offset int) {
	l0, r0, l1, r1, t, u := g.l0, g.r0, g.l1, g.r1, g.t, g.u
	g.emit(func() { m.c.VPUNPCKLQDQ(r0, l0, t) })
	g.emit(func() { m.c.VPUNPCKHQDQ(r0, l0, u) })
	g.emit(func() { m.c.VPUNPCKLQDQ(r1, l1, l0) })
	g.emit(func() { m.c.VPUNPCKHQDQ(r1, l1, r0) })
	for i, from := range [][2]register{{t, l0}, {u, r0}} {
		g.emit(func() { m.c.VSHUFPS(evens, from[1], from[0], l1) })
		g.emit(func() { m.c.VSHUFPS(odds, from[1], from[0], r1) })
		for j, x := range []register{l1, r1} {
			g.emit(func() { m.c.VPSHUFB(m.toBlocks, x, x) })
			g.emit(func() { m.c.VMOVDQU(x, at(dst, offset+64*i+32*j)) })
		}
	}
}

func (m *avx2) rotate(g *group, n int, x register) {
	u := g.u
	g.emit(func() { m.c.VPSLLW(operand.U8(n), x, u) })
	g.emit(func() { m.c.VPSRLW(operand.U8(16-n), x, x) })
	g.emit(func() { m.c.VPXOR(u, x, x) })
}

func (m *avx2) rotate8(g *group, from, to register) {
	g.emit(func() { m.c.VPSHUFB(m.swap, from, to) })
}

func (m *avx2) rotate2And10(g *group, x, t register) {
	m.rotate(g, 2, x)
	m.rotate8(g, x, t)
}

func (m *avx2) xor(g *group, x, to register) {
	g.emit(func() { m.c.VPXOR(x, to, to) })
}

func (m *avx2) xorBoth(g *group, x, y, to register) {
	m.xor(g, y, to)
	m.xor(g, x, to)
}

func (m *avx2) xorWord(g *group, word operand.Mem, from, to register) {
	u := g.u
	g.emit(func() { m.c.VPBROADCASTQ(word, u) })
	g.emit(func() { m.c.VPXOR(u, from, to) })
}

// xorWordAnd takes the word first, because x is what comes late.
func (m *avx2) xorWordAnd(g *group, word operand.Mem, x, to register) {
	m.xorWord(g, word, to, to)
	m.xor(g, x, to)
}
