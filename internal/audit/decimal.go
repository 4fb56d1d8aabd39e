package audit

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/snowfence/snowfence"
)

// decimals reads a block of lines, each with a decimal ID, into b. It reads lines
// of digits, perhaps after a '-', eight characters at a time, and calls the
// function for single lines for others.
func decimals(block []byte, b *Batch, one lineFunc) (lines int64) {
	for len(block) > 0 {
		lines++
		id, n, ok := decimalLine(block)
		if !ok {
			line := block
			n = len(block)
			if i := bytes.IndexByte(block, '\n'); i >= 0 {
				line, n = block[:i], i+1
			}
			addLine(b, line, lines, one)
			block = block[n:]
			continue
		}
		block = block[n:]
		b.add(id, lines)
	}
	return lines
}

// maxDigits is up to how many digits a number cannot overflow.
const maxDigits = 19

// decimalLine reads a simple line with its end. It is not ok for any other line,
// valid or not.
func decimalLine(text []byte) (id snowfence.ID, n int, ok bool) {
	negative := false
	if text[0] == '-' {
		negative = true
		n = 1
		// A zero after the sign is another form of text.
		if len(text) > 1 && text[1] == '0' {
			return 0, 0, false
		}
	}
	start := n
	var v uint64
	for len(text)-n >= 8 {
		x := binary.LittleEndian.Uint64(text[n:])
		digits := leadingDigits(x)
		if digits == 8 {
			v = v*1e8 + eightDigits(x)
			if n += 8; n-start > 24 {
				return 0, 0, false
			}
			continue
		}
		if digits > 0 {
			// The digits move to the end, behind zeros.
			v = v*powerOfTen(digits) + eightDigits(x<<(8*(8-digits)))
			n += digits
		}
		return finish(text, v, n, n-start, negative)
	}
	for n < len(text) && text[n]-'0' <= 9 && n-start < maxDigits {
		v = v*10 + uint64(text[n]-'0')
		n++
	}
	return finish(text, v, n, n-start, negative)
}

// finish checks that only the end of the line follows the digits.
func finish(text []byte, v uint64, n, digits int, negative bool) (snowfence.ID, int, bool) {
	if digits == 0 || digits > maxDigits {
		return 0, 0, false
	}
	if n < len(text) {
		if text[n] == '\r' {
			n++
		}
		if n == len(text) || text[n] != '\n' {
			return 0, 0, false
		}
		n++
	}
	if !negative {
		return snowfence.ID(v), n, true
	}
	return snowfence.ID(-v), n, v <= 1<<63
}

// leadingDigits returns how many of eight characters, the first in the lowest
// byte, are digits before the first other.
func leadingDigits(x uint64) int {
	const (
		zeros = 0x3030303030303030
		highs = 0xf0f0f0f0f0f0f0f0
		six   = 0x0606060606060606
	)
	// '0' to '9' are 0x30 to 0x39: the high half is 3, also after adding 6.
	// Carries go upwards only, so the first other character is always found.
	not := ((x & highs) ^ zeros) | (((x + six) & highs) ^ zeros)
	if not == 0 {
		return 8
	}
	return bits.TrailingZeros64(not) / 8
}

// eightDigits returns the number of eight digits: digits to pairs, pairs to
// fours, fours to all.
func eightDigits(x uint64) uint64 {
	x &= 0x0f0f0f0f0f0f0f0f
	x = x*10 + x>>8
	x = (x&0x000000ff000000ff)*(100+1000000<<32) + (x>>16&0x000000ff000000ff)*(1+10000<<32)
	return x >> 32
}

func powerOfTen(n int) uint64 {
	powers := [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7}
	return powers[n&7]
}
