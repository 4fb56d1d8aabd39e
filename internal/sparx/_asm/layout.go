package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The key schedule: a word stands in all four lanes of a uint64, twelve are
// a step, and the second branch's begin with the sixth. After the last step
// comes the beginning of another.
const (
	steps     = 8
	stepWords = 12
	second    = 6
	wordBytes = 8
)

// The seed of a counter: each word in all lanes of a uint64.
const (
	seedStart = 8 * iota // the lowest 16 bits of the first number, their bytes not exchanged
	seedStep             // of the counter
	seedAdd              // the second word with its key: what the first round adds to the first word
	seedXor              // the same, rotated, and the key of the second round
	seedMixed            // the third word after the third round
	seedBoth             // the fourth word as the third round rotates it, and the folded key after the mixing
)

// The general registers.
var (
	dst    = reg.RDI
	src    = reg.RSI
	groups = reg.RCX // that are still to come
	keys   = reg.RAX
	seed   = reg.RDX
	pair   = reg.R8 // the words of two steps
	left   = reg.R9 // pairs that are still to come
)

func at(base reg.Register, offset int) operand.Mem { return operand.Mem{Base: base, Disp: offset} }

// words makes a table of 16-bit words; n is a multiple of four.
func words(c *build.Context, name string, n int, word func(i int) int) operand.Mem {
	m := c.StaticGlobal(name)
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := 0; i < n; i += 4 {
		var four uint64
		for j := range 4 {
			four |= uint64(word(i+j)) << (16 * j)
		}
		c.AppendDatum(operand.U64(four))
	}
	return m
}

// exchanged is the entry for a word in a shuffle of bytes that takes it
// from somewhere and exchanges its bytes.
func exchanged(from int) int { return from + 1 | from<<8 }
