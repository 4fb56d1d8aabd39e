package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

type register = reg.VecPhysical

// A group is some blocks in work. A register has the same one of their four
// words for all. The steps are as in one.go; avx512.go has their
// instructions.
type group struct {
	*avx512
	s stream

	l0, r0, l1, r1 register // the words
	t              register // free

	keys reg.Register // where its words of the key schedule are
}

func (g *group) key(i int) operand.Mem { return at(g.keys, i*wordBytes) }

func (g *group) add(x, to register) { g.emit(func() { g.c.VPADDW(x, to, to) }) }

func (g *group) emit(instruction func()) { g.s = append(g.s, instruction) }

// whiten xors with the words of the first round of all.
func (g *group) whiten() {
	g.xorWord(g, g.key(0), g.l0, g.l0)
	g.xorWord(g, g.key(1), g.r0, g.r0)
	g.xorWord(g, g.key(second), g.l1, g.l1)
	g.xorWord(g, g.key(second+1), g.r1, g.r1)
}

// branch is a branch and the place of its words in the key schedule.
type branch struct {
	l, r register
	i    int
}

func (g *group) branches(i int) [2]branch {
	return [2]branch{{g.l0, g.r0, i}, {g.l1, g.r1, i + second}}
}

// round is a round of both branches, and then the keys of the round after
// it, which begin at word i.
func (g *group) round(i int) {
	for _, b := range g.branches(i) {
		g.rotate(g, 9, b.l)
		g.add(b.r, b.l)
		g.rotate(g, 2, b.r)
		g.xorWordAnd(g, g.key(b.i+1), b.l, b.r)
		g.xorWord(g, g.key(b.i), b.l, b.l)
	}
}

// step is a step of the cipher with its words from i on.
func (g *group) step(i int) {
	g.round(i + 2)
	g.round(i + 4)
	g.mix(i + stepWords)
}

// mix is the third round of a step and the mixing, and then the keys of the
// step after it, which begin at word i.
func (g *group) mix(i int) {
	g.rotate(g, 9, g.l0)
	g.rotate(g, 9, g.l1)
	g.add(g.r0, g.l0)
	g.add(g.r1, g.l1)
	g.rotate2And10(g, g.r0, g.t)
	g.rotate(g, 2, g.r1)
	g.xorWord(g, g.key(i), g.t, g.t)
	g.xorWordAnd(g, g.key(i+1), g.r0, g.r1)
	g.xorBoth(g, g.t, g.l0, g.l1)
	g.xorWordAnd(g, g.key(i+second+1), g.l0, g.r0)
	g.xorWord(g, g.key(i+second), g.l0, g.l0)
	g.xor(g, g.l1, g.r1)
	g.l0, g.r0, g.l1, g.r1 = g.l1, g.r1, g.l0, g.r0
}

// count makes the first words of the next numbers of a counter and takes
// them through the first step. The rest of that step is in the seed.
func (g *group) count(position register) {
	g.rotate8(g, position, g.l0)
	g.add(stride(g.avx512), position)
	g.xorWord(g, g.key(0), g.l0, g.l0)

	g.rotate(g, 9, g.l0)
	g.add(added(g.avx512), g.l0)
	g.xorWord(g, at(seed, seedXor), g.l0, g.r0)
	g.xorWord(g, g.key(2), g.l0, g.l0)

	g.rotate(g, 9, g.l0)
	g.add(g.r0, g.l0)
	g.rotate(g, 2, g.r0)
	g.xorWordAnd(g, g.key(5), g.l0, g.r0)
	g.xorWord(g, g.key(4), g.l0, g.l0)

	g.rotate(g, 9, g.l0)
	g.add(g.r0, g.l0)
	g.rotate2And10(g, g.r0, g.t)
	g.xorWord(g, g.key(stepWords), g.t, g.t)
	g.xorWord(g, at(seed, seedBoth), g.r0, g.r1)
	g.xorWordAnd(g, at(seed, seedMixed), g.l0, g.t)
	g.xorWordAnd(g, g.key(stepWords+second+1), g.l0, g.r0)
	g.xorWord(g, g.key(stepWords+second), g.l0, g.l0)
	g.xor(g, g.t, g.r1)
	g.l0, g.r0, g.l1, g.r1, g.t = g.t, g.r1, g.l0, g.r0, g.l1
}

// The registers of a counter, above the groups'.
func positions(m *avx512) []register { return m.registers()[m.sets()*m.each():][:m.sets()] }
func stride(m *avx512) register      { return m.registers()[m.sets()*(m.each()+1)] }
func added(m *avx512) register       { return m.registers()[m.sets()*(m.each()+1)+1] }

// startCounter fills the registers of a counter: the position of each set,
// their step, and the words that the first round adds.
func startCounter(m *avx512) {
	c, p := m.c, positions(m)
	lanes := added(m) // for now
	c.VPBROADCASTQ(at(seed, seedStep), stride(m))
	c.VPMULLW(m.order, stride(m), lanes)
	c.VPSLLW(log2(m.blocks()), stride(m), stride(m))
	c.VPBROADCASTQ(at(seed, seedStart), p[0])
	c.VPADDW(lanes, p[0], p[0])
	for i := 1; i < m.sets(); i++ {
		c.VPADDW(stride(m), p[i-1], p[i])
	}
	c.VPSLLW(log2(m.sets()), stride(m), stride(m))
	c.VPBROADCASTQ(at(seed, seedAdd), added(m))
}

// singleCounter makes the first set go on by a group.
func singleCounter(m *avx512) {
	c := m.c
	c.VPBROADCASTQ(at(seed, seedStep), stride(m))
	c.VPSLLW(log2(m.blocks()), stride(m), stride(m))
}

func log2(n int) operand.U8 {
	l := operand.U8(0)
	for ; n > 1; n /= 2 {
		l++
	}
	return l
}
