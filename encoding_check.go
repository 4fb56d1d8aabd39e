package snowfence

// checkOf returns the check character of crockford text, which is valid.
//
// It is a number of the field of 32 elements, where x^5 = x^2 + 1: each digit is added by
// xor, and then the sum is multiplied by x. So a character n places before the check
// character counts x^n times. Up to 31 places, all these weights are different, and none
// is 0. Hence the sum changes with each single character; with two that change places,
// wherever they stand, because a·w + b·v = b·w + a·v only if a = b or w = v; and with two
// equal characters that both become another one, because in this field a sum is a
// difference. The check character itself has the weight 1, so all this includes it.
//
// Zeros in front count nothing. The sign of a negative ID in fixed text counts as a 1.
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

// checkText compares the check character of text with valid other characters, if its encoding has
// one.
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
