package snowfence

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// maxLen is the longest text of any encoding: a fixed decimal.
const maxLen = 20

// notDigit marks the characters that an encoding does not use.
const notDigit = 0xff

// codec has the digits of one encoding both ways, and numbers derived from
// the base.
type codec struct {
	name   string
	digits string     // by value
	values [256]uint8 // by character, or notDigit
	plus   byte       // first character of fixed text if the ID is not negative
	maxLen int
	check  int // check characters at the end: 0 or 1

	base    uint64
	shift   int    // log2 of the base if that is whole, otherwise 0
	chunk   uint64 // base to the power of chunkLen
	inverse uint64 // 2^inverseShift / base, rounded up
}

// A chunk is small enough to divide by multiplying with an inverse in 64
// bits. Five digits of base 62 are below 2^30, and inverses of bases from
// 10 up are below 2^35, so nothing overflows. Rounding the inverse up adds
// at most 2^30, and the next quotient is 2^38/62 away, which is more.
const (
	chunkLen     = 5
	inverseShift = 38
)

var codecs = newCodecs()

func newCodecs() (all [formCount]codec) {
	const (
		decimal = "0123456789"
		lower   = "abcdefghijklmnopqrstuvwxyz"
		upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		letters = "ABCDEFGHJKMNPQRSTVWXYZ" // of Crockford
		lower58 = "abcdefghijkmnopqrstuvwxyz"
		upper58 = "ABCDEFGHJKLMNPQRSTUVWXYZ"
	)
	for i, alphabet := range [formCount / 2]struct {
		name, digits string
		anyCase      bool
	}{
		formDecimal / 2:      {"dec", decimal, false},
		formHex / 2:          {"hex", decimal + "abcdef", true},
		formBase32Hex / 2:    {"base32hex", decimal + "abcdefghijklmnopqrstuv", true},
		formCrockford / 2:    {"crockford", decimal + letters, true},
		formZBase32 / 2:      {"zbase32", "ybndrfg8ejkmcpqxot1uwisza345h769", true},
		formBase36 / 2:       {"base36", decimal + lower, true},
		formBase58 / 2:       {"base58", decimal[1:] + upper58 + lower58, false},
		formBase58Flickr / 2: {"base58flickr", decimal[1:] + lower58 + upper58, false},
		formBase62 / 2:       {"base62", decimal + upper + lower, false},
		formBase64URL / 2:    {"base64url", upper + lower + decimal + "-_", false},

		formCrockfordCheck / 2: {"crockfordcheck", decimal + letters, true},
	} {
		plain := newCodec(alphabet.digits, alphabet.anyCase)
		plain.name = alphabet.name
		plain.maxLen = digitsOf(math.MaxUint64, plain.base) // for dec the same as MinInt64 with its sign

		sorted := []byte(alphabet.digits)
		slices.Sort(sorted)
		fixed := newCodec(string(sorted), alphabet.anyCase)
		fixed.name = alphabet.name + "-fixed"
		fixed.maxLen = 1 + digitsOf(math.MaxInt64, fixed.base)
		if fixed.plus = sorted[0]; fixed.plus == '-' {
			fixed.plus = '0'
		}
		all[2*i], all[2*i+formFixed] = plain, fixed
	}
	for _, form := range []uint8{formCrockfordCheck, formCrockfordCheck | formFixed} {
		all[form].check = 1
		all[form].maxLen++
	}
	for _, form := range []uint8{
		formCrockford, formCrockford | formFixed, formCrockfordCheck, formCrockfordCheck | formFixed,
	} {
		c := &all[form]
		c.values['I'], c.values['i'], c.values['L'], c.values['l'] = 1, 1, 1, 1
		c.values['O'], c.values['o'] = 0, 0
	}
	return all
}

func newCodec(digits string, anyCase bool) codec {
	base := uint64(len(digits))
	c := codec{
		digits:  digits,
		base:    base,
		chunk:   base * base * base * base * base,
		inverse: 1<<inverseShift/base + 1,
	}
	if base&(base-1) == 0 {
		c.shift = bits.TrailingZeros64(base)
	}
	for i := range c.values {
		c.values[i] = notDigit
	}
	for i := range len(digits) {
		c.values[digits[i]] = uint8(i)
		if letter := digits[i] | 0x20; anyCase && 'a' <= letter && letter <= 'z' {
			c.values[letter] = uint8(i)
			c.values[letter-0x20] = uint8(i)
		}
	}
	return c
}

// digitsOf returns how many digits v has in the given base.
func digitsOf(v, base uint64) int {
	n := 1
	for ; v >= base; v /= base {
		n++
	}
	return n
}

// putDigits writes v to the end of buf in at least n digits and returns
// their start.
func (c *codec) putDigits(buf *[maxLen]byte, v uint64, n int) int {
	i := maxLen
	if c.shift != 0 {
		for ; v != 0 || i > maxLen-n; v >>= c.shift {
			i--
			buf[i] = c.digits[v&(c.base-1)]
		}
		return i
	}
	for v >= c.chunk {
		q := v / c.chunk
		r := v - q*c.chunk
		v = q
		for range chunkLen {
			q := r * c.inverse >> inverseShift
			i--
			buf[i] = c.digits[r-q*c.base]
			r = q
		}
	}
	for v != 0 || i > maxLen-n {
		q := v * c.inverse >> inverseShift
		i--
		buf[i] = c.digits[v-q*c.base]
		v = q
	}
	return i
}

// appendDecimal is strconv.AppendInt in about 70% of its time for long
// numbers.
func appendDecimal(dst []byte, id int64) []byte {
	v := uint64(id)
	if id < 0 {
		dst = append(dst, '-')
		v = -v
	}
	if v < 1e8 {
		return strconv.AppendUint(dst, v, 10)
	}
	high, low := v/1e8, v%1e8
	if high < 1e8 {
		dst = appendTrimmed(dst, high)
	} else {
		dst = appendTrimmed(dst, high/1e8)
		dst = binary.LittleEndian.AppendUint64(dst, eightDigits(high%1e8))
	}
	return binary.LittleEndian.AppendUint64(dst, eightDigits(low))
}

// appendTrimmed appends v, 0 < v < 10^8, without leading zeros. It writes
// eight bytes and takes some back, which is room enough because eight
// digits follow.
func appendTrimmed(dst []byte, v uint64) []byte {
	text := eightDigits(v)
	zeros := bits.TrailingZeros64(text&0x0f0f0f0f0f0f0f0f) / 8
	dst = binary.LittleEndian.AppendUint64(dst, text>>(8*zeros))
	return dst[:len(dst)-zeros]
}

// eightDigits returns the eight decimal digits of v < 10^8, the first in
// the lowest byte. It halves the number three times, all parts of a step by
// one multiplication: into lanes of four, two and one digits. 10486/2^20
// and 103/2^10 are close enough to 1/100 and 1/10. Source: Paul Khuong,
// "How to print integers really fast", 2017.
func eightDigits(v uint64) uint64 {
	q := v / 10000
	v = q | (v-q*10000)<<32
	q = v * 10486 >> 20 & 0x0000007f_0000007f
	v = q | (v-q*100)<<16
	q = v * 103 >> 10 & 0x000f_000f_000f_000f
	v = q | (v-q*10)<<8
	return v | 0x3030303030303030
}
