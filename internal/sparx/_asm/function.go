package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
)

// A stream is what happens to a group, an instruction at a time. A group
// waits for itself some of the time, so the streams of several groups are
// woven into each other.
type stream []func()

// function emits
//
//	func name(dst, src *uint64, groups int, keys *uint64)
//
// or, for a counter, with a seed in the place of src. It takes as many
// groups at once as there are sets of registers, and then the rest one by
// one.
func function(m *avx512, name, doc string, counter bool) {
	c := m.c
	source, register := "src", src
	if counter {
		source, register = "seed", seed
	}
	c.Function(name)
	c.Doc(doc)
	c.Attributes(attr.NOSPLIT)
	c.SignatureExpr("func(dst, " + source + " *uint64, groups int, keys *uint64)")
	c.Load(c.Param("dst"), dst)
	c.Load(c.Param(source), register)
	c.Load(c.Param("groups"), groups)
	c.Load(c.Param("keys"), keys)
	if counter {
		startCounter(m)
	}
	if n := m.sets(); n > 1 {
		c.SUBQ(operand.I8(n), groups)
		c.JLT(operand.LabelRef("few"))
		c.Label("many")
		block(m, counter, n, "manySteps")
		c.SUBQ(operand.I8(n), groups)
		c.JGE(operand.LabelRef("many"))
		c.Label("few")
		c.ADDQ(operand.I8(n), groups)
		c.JEQ(operand.LabelRef("done"))
		if counter {
			singleCounter(m)
		}
	}
	c.Label("single")
	block(m, counter, 1, "steps")
	c.DECQ(groups)
	c.JNE(operand.LabelRef("single"))
	c.Label("done")
	c.VZEROUPPER()
	c.RET()
}

// block takes one group in each of n sets of registers from src to dst. Its
// steps are a loop, two an iteration: after two, the words are in the same
// registers again.
func block(m *avx512, counter bool, n int, label string) {
	c := m.c
	gs := make([]*group, n)
	for i := range gs {
		r := m.registers()[i*m.each():]
		gs[i] = &group{avx512: m, l0: r[0], r0: r[1], l1: r[2], r1: r[3], t: r[4], keys: keys}
	}
	each := func(do func(i int, g *group)) {
		streams := make([]stream, n)
		for i, g := range gs {
			do(i, g)
			streams[i], g.s = g.s, nil
		}
		weave(streams)
	}
	size := m.blocks() * 8
	const forward = 2 * stepWords * wordBytes
	pairs, from := steps/2, 0
	if counter { // the first step is in count
		each(func(i int, g *group) { g.count(positions(m)[i]); g.step(stepWords) })
		pairs, from = pairs-1, forward
	} else {
		each(func(i int, g *group) { g.load(g, i*size); g.whiten() })
	}
	c.LEAQ(at(keys, from), pair)
	c.MOVQ(operand.U32(pairs), left)
	c.Label(label)
	each(func(_ int, g *group) {
		g.keys = pair
		g.step(0)
		g.step(stepWords)
		g.keys = keys
	})
	c.ADDQ(operand.I32(forward), pair)
	c.DECQ(left)
	c.JNE(operand.LabelRef(label))
	each(func(i int, g *group) { g.store(g, i*size) })
	c.ADDQ(operand.I32(n*size), dst)
	if !counter {
		c.ADDQ(operand.I32(n*size), src)
	}
}

// weave emits the streams in turns. Each gives an instruction whenever its
// share is due, so that all of them end together.
func weave(streams []stream) {
	longest := 0
	for _, s := range streams {
		longest = max(longest, len(s))
	}
	for i := range longest {
		for _, s := range streams {
			for j := i * len(s) / longest; j < (i+1)*len(s)/longest; j++ {
				s[j]()
			}
		}
	}
}
