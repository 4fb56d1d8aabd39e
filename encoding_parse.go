package snowfence

import (
	"fmt"
	"math"
	"math/bits"
)

// SyntaxError says why text is not an ID. It unwraps to [ErrInvalidID].
type SyntaxError struct {
	Encoding string // name of the encoding in which the text was read
	Input    string // the text, cut off if it is long
	Offset   int    // of the first byte at fault, from 0
	Reason   string // for people
}

// Error quotes the input, names the encoding, and says where and why it
// failed.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%v: cannot read %q as %s: %s (byte %d)", ErrInvalidID, e.Input, e.Encoding, e.Reason, e.Offset)
}

// Unwrap returns [ErrInvalidID].
func (e *SyntaxError) Unwrap() error { return ErrInvalidID }

// syntaxErrorf quotes no more of s than a person would read.
func syntaxErrorf[T string | []byte](c *codec, s T, offset int, format string, args ...any) *SyntaxError {
	return &SyntaxError{
		Encoding: c.name,
		Input:    shorten(string(s[:min(len(s), 64)])),
		Offset:   offset,
		Reason:   fmt.Sprintf(format, args...),
	}
}

// parse reads all of s as text of e.
func parse[T string | []byte](e Encoding, s T) (ID, *SyntaxError) {
	c := &codecs[e.form]
	switch {
	case len(s) == 0:
		return 0, syntaxErrorf(c, s, 0, "the text is empty")
	case e.form&formFixed != 0:
		return parseFixed(c, &codecs[e.form&^formFixed], s)
	case len(s) > c.maxLen:
		reason := fmt.Sprintf("the text has %d bytes, more than the %d of the longest ID", len(s), c.maxLen)
		if fixed := &codecs[e.form|formFixed]; len(s) == fixed.maxLen {
			reason += "; if it is padded to a fixed width, read it as " + fixed.name
		}
		return 0, syntaxErrorf(c, s, c.maxLen, "%s", reason)
	case e.form == formDecimal:
		return parseDecimal(c, s)
	case e.form == formBase64URL:
		return parseBase64(c, s)
	}
	v, err := parseDigits(c, s, 0, len(s)-c.check)
	if err == nil {
		err = checkText(c, s)
	}
	return ID(v), err
}

func parseFixed[T string | []byte](c, plain *codec, s T) (ID, *SyntaxError) {
	if len(s) != c.maxLen {
		return 0, syntaxErrorf(c, s, min(len(s), c.maxLen),
			"the text has %d bytes instead of %d; if it is not padded to a fixed width, read it as %s",
			len(s), c.maxLen, plain.name)
	}
	var sign uint64
	switch {
	case s[0] == '-':
		sign = 1 << 63
	case c.values[s[0]] != c.values[c.plus]: // by value, so that O is 0 for Crockford here too
		return 0, syntaxErrorf(c, s, 0, "%s is not the sign, which is '-' or %q", character(s[0]), c.plus)
	}
	end := len(s) - c.check
	v, err := parseDigits(c, s, 1, end)
	if err == nil {
		err = checkText(c, s)
	}
	if err != nil {
		return 0, err
	}
	if v > math.MaxInt64 {
		return 0, syntaxErrorf(c, s, end-1, "the number is out of range: the digits after the sign are at most 2^63-1")
	}
	return ID(v | sign), nil
}

func parseDecimal[T string | []byte](c *codec, s T) (ID, *SyntaxError) {
	if s[0] != '-' {
		v, err := parseDigits(c, s, 0, len(s))
		if err == nil && v > math.MaxInt64 {
			err = syntaxErrorf(c, s, len(s)-1, "the number is out of range for a signed ID; "+
				"if it comes from a program with unsigned IDs, it is the ID %d here", int64(v))
		}
		if err != nil {
			return 0, err
		}
		return ID(v), nil
	}
	// Decimal alone has plain and fixed text of one length. A zero here
	// means fixed.
	if len(s) > 1 && s[1] == '0' {
		return 0, syntaxErrorf(c, s, 1, "a zero follows the '-'; "+
			"if the text is padded to a fixed width, read it as %s", codecs[formDecimal|formFixed].name)
	}
	v, err := parseDigits(c, s, 1, len(s))
	if err == nil && v > 1<<63 {
		err = syntaxErrorf(c, s, len(s)-1, "the number is out of range: the lowest ID is -2^63")
	}
	if err != nil {
		return 0, err
	}
	return ID(-v), nil
}

// parseBase64 reads ten digits of six bits and one of four, see Append.
func parseBase64[T string | []byte](c *codec, s T) (ID, *SyntaxError) {
	if len(s) < c.maxLen {
		return 0, syntaxErrorf(c, s, len(s), "the text has %d bytes, but the text of an ID has %d", len(s), c.maxLen)
	}
	last := len(s) - 1
	high, err := parseDigits(c, s, 0, last)
	if err != nil {
		return 0, err
	}
	low := c.values[s[last]]
	switch {
	case low == notDigit:
		return 0, notADigit(c, s, last)
	case low&3 != 0:
		// Without this check four texts would be the same ID.
		return 0, syntaxErrorf(c, s, last, "%s has bits beyond the 64 of an ID", character(s[last]))
	}
	return ID(high<<4 | uint64(low>>2)), nil
}

// parseDigits reads the number s[start:end].
func parseDigits[T string | []byte](c *codec, s T, start, end int) (uint64, *SyntaxError) {
	if start == end {
		return 0, syntaxErrorf(c, s, start, "the text has no digits")
	}
	var v uint64
	for i := start; i < end; i++ {
		digit := c.values[s[i]]
		if digit == notDigit {
			return 0, notADigit(c, s, i)
		}
		high, low := bits.Mul64(v, c.base)
		sum, carry := bits.Add64(low, uint64(digit), 0)
		if high|carry != 0 {
			return 0, syntaxErrorf(c, s, i, "the number is out of range: an ID has 64 bits")
		}
		v = sum
	}
	return v, nil
}

func notADigit[T string | []byte](c *codec, s T, i int) *SyntaxError {
	return syntaxErrorf(c, s, i, "%s is not a digit", character(s[i]))
}

// character names a byte of the input. A byte of a longer character has a
// number only.
func character(b byte) string {
	if b < 0x80 {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("0x%02x", b)
}

// checkText compares the check character of text with valid other
// characters, if its encoding has one.
func checkText[T string | []byte](c *codec, s T) *SyntaxError {
	last := len(s) - 1
	switch {
	case c.check == 0:
		return nil
	case c.values[s[last]] == notDigit:
		return notADigit(c, s, last)
	case c.values[s[last]] != c.values[checkOf(s[:last])]:
		return syntaxErrorf(c, s, last, "the check character %s does not fit the others: "+
			"at least one character is wrong, missing or in the wrong place", character(s[last]))
	}
	return nil
}

// checkOf returns the check character of crockford text, which is valid.
//
// It is a number of the field of 32 elements, where x^5 = x^2 + 1: each
// digit is added by xor, and then the sum is multiplied by x. So a
// character n places before the check character counts x^n times. Up to 31
// places, all these weights are different, and none is 0. Hence the sum
// changes with each single character. It changes if any two characters swap
// places, because a·w + b·v = b·w + a·v only if a = b or w = v. It changes
// if two equal characters both become another one, because in this field a
// sum is a difference. The check character itself has the weight 1, so all
// this includes it.
//
// Zeros in front count nothing. The sign of a negative ID in fixed text
// counts as a 1.
func checkOf[T string | []byte](text T) byte {
	c := &codecs[formCrockford]
	sum := uint8(0)
	for i := range len(text) {
		digit := uint8(1)
		if text[i] != '-' {
			digit = c.values[text[i]]
		}
		if sum = (sum ^ digit) << 1; sum >= 32 {
			sum ^= 0b100101
		}
	}
	return c.digits[sum]
}
