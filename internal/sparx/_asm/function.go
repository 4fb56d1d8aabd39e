package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// An isa is an instruction set. What works on words appends instructions to a group.
type isa interface {
	code() *build.Context

	blocks() int           // in a group
	sets() int             // how many groups are woven, each with its set of registers
	each() int             // registers in a set
	registers() []register // all of them
	lanes() operand.Mem    // which block of a group is in which lane

	load(g *group, offset int)  // reads the blocks at src, and brings the same words together
	store(g *group, offset int) // is the inverse, to dst

	rotate(g *group, n int, x register)                             // x = rotl(x, n)
	rotate8(g *group, from, to register)                            // to = rotl(from, 8)
	rotate2And10(g *group, x, t register)                           // x, t = rotl(x, 2), rotl(x, 10)
	xor(g *group, x, to register)                                   // to ^= x
	xorBoth(g *group, x, y, to register)                            // to ^= x ^ y
	xorWord(g *group, word operand.Mem, from, to register)          // to = from ^ word
	xorWordAnd(g *group, word operand.Mem, x register, to register) // to ^= word ^ x
}

// A kind is one of the functions that each instruction set has.
type kind int

const (
	encrypt kind = iota
	decrypt
	counter
)

// A stream is what happens to a group, an instruction at a time. A group waits for itself
// most of the time, so the streams of several groups are woven into each other, and the
// CPU always finds something to do.
type stream []func()

// weave emits the streams in turns. Each gives an instruction whenever its share is due,
// so that all of them end together.
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

// whole is the way of a group through a set of registers. Only its beginning reads src,
// and only its end writes to dst.
func whole(m isa, k kind, set, dstOffset, srcOffset int) stream {
	r := m.registers()[set*m.each():]
	g := &group{isa: m, l0: r[0], r0: r[1], l1: r[2], r1: r[3], t: r[4], u: r[m.each()-1]}
	first := 0
	switch k {
	case encrypt:
		g.load(g, srcOffset)
		g.whiten()
	case decrypt:
		g.load(g, srcOffset)
		for i := (steps - 1) * stepWords; i >= 0; i -= stepWords {
			g.unmix(i + stepWords)
			g.unround(i+4, true)
			g.unround(i+2, true)
			g.unround(i, false)
		}
		g.whiten()
		first = steps
	case counter:
		g.count(positions(m)[set])
		first = 1
	}
	for i := first * stepWords; i < steps*stepWords; i += stepWords {
		g.round(i + 2)
		g.round(i + 4)
		g.mix(i + stepWords)
	}
	g.store(g, dstOffset)
	return g.s
}

// function emits
//
//	func name(dst, src *uint64, groups int, keys *uint64)
//
// or, for a counter, with a seed in the place of src. In the main loop there is a group
// in every set of registers, and each is in another phase: while one of them is loaded
// and put in order, which few ports of the CPU can do, the others are in their rounds. So
// before the loop each group goes as far as its phase, an iteration takes it to its end
// and the next one as far as that, and after the loop comes the rest.
func function(m isa, name, doc string, k kind) {
	c := m.code()
	source, register := "src", src
	if k == counter {
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
	c.ADDQ(operand.I32(keyMiddle), keys)
	if k == counter {
		startCounter(m)
	}

	n, size := m.sets(), m.blocks()*8
	advance := func(groups int) {
		c.ADDQ(operand.I32(groups*size), dst)
		if k != counter {
			c.ADDQ(operand.I32(groups*size), src)
		}
	}
	begin, end, turn := make([]stream, n), make([]stream, n), make([]stream, n)
	for i := range n {
		now := whole(m, k, i, i*size, i*size)
		next := whole(m, k, i, i*size, (n+i)*size)
		phase := len(now) * (2*i + 1) / (2 * n)
		begin[i], end[i] = now[:phase], now[phase:]
		turn[i] = append(append(stream{}, end[i]...), next[:phase]...)
	}

	c.SUBQ(operand.I8(n), groups)
	c.JLT(operand.LabelRef("few"))
	weave(begin)
	c.SUBQ(operand.I8(n), groups)
	c.JLT(operand.LabelRef("last"))
	c.Label("loop")
	weave(turn)
	advance(n)
	c.SUBQ(operand.I8(n), groups)
	c.JGE(operand.LabelRef("loop"))
	c.Label("last")
	weave(end)
	advance(n)

	c.Label("few")
	c.ADDQ(operand.I8(n), groups)
	c.JEQ(operand.LabelRef("done"))
	if k == counter {
		singleCounter(m)
	}
	c.Label("single")
	weave([]stream{whole(m, k, 0, 0, 0)})
	advance(1)
	c.DECQ(groups)
	c.JNE(operand.LabelRef("single"))
	c.Label("done")
	c.VZEROUPPER()
	c.RET()
}
