package snowfence

import (
	"fmt"
	"math"
	"strings"
)

// Encoding is a way to write an ID as text. The zero value is [Decimal].
// Encodings are comparable values without state; all methods may be called
// at the same time from many goroutines.
//
// The predeclared encodings, by the name that [ParseEncoding] knows:
//
//	dec           signed decimal                            at most 20 bytes
//	hex           base 16, lower case                       at most 16 bytes
//	base32hex     base 32, 0-9 a-v                          at most 13 bytes
//	crockford     base 32, 0-9 A-Z without I L O U          at most 13 bytes
//	zbase32       base 32, in z-base-32's order             at most 13 bytes
//	base36        base 36, 0-9 a-z                          at most 13 bytes
//	base58        base 58, Bitcoin's order                  at most 11 bytes
//	base58flickr  base 58, Flickr's order                   at most 11 bytes
//	base62        base 62, 0-9 A-Z a-z                      at most 11 bytes
//	base64url     the 8 bytes of the ID as in RFC 4648      always  11 bytes
//	crockfordcheck  crockford and a check character         at most 14 bytes
//
// All but dec write the unsigned value uint64(id); all but base64url write
// it as a number, without leading zeros. Parsing takes leading zeros up to
// the length above, and nothing else besides the digits and, for dec, a
// '-': no space, plus sign, 0x or separator.
//
// A column that ignores case refuses many texts of base58, base58flickr,
// base62 and base64url as duplicates. The others are for any column.
//
// For text that sorts as the IDs do, see [Encoding.Fixed].
type Encoding struct {
	form uint8 // index into codecs; odd for the fixed-width forms
}

// Forms of text. Each is followed by its fixed-width form.
const (
	formDecimal uint8 = 2 * iota
	formHex
	formBase32Hex
	formCrockford
	formZBase32
	formBase36
	formBase58
	formBase58Flickr
	formBase62
	formBase64URL
	formCrockfordCheck
	formCount

	formFixed = 1
)

// The predeclared encodings. Go has no constants of struct type: do not
// assign to them.
var (
	// Decimal writes the signed number. Parse refuses zeros after a '-'
	// (see Fixed). It also refuses 2^63 to 2^64-1, as programs with
	// unsigned IDs write what are negative IDs here: parse those as a
	// uint64 and convert.
	Decimal = Encoding{formDecimal}

	// Hex writes base 16 in lower case and parses either case.
	Hex = Encoding{formHex}

	// Base32Hex writes base 32 with the digits 0-9a-v, as Randflake does,
	// and parses either case. It writes a number, unlike
	// base32.HexEncoding.
	Base32Hex = Encoding{formBase32Hex}

	// Crockford writes Douglas Crockford's base 32 in upper case. It parses
	// either case, I and L as 1, O as 0, but no hyphens or check symbols.
	Crockford = Encoding{formCrockford}

	// ZBase32 writes base 32 with the alphabet of Zooko Wilcox-O'Hearn's
	// z-base-32 in lower case and parses either case. It writes a number,
	// not groups of bits.
	ZBase32 = Encoding{formZBase32}

	// Base36 writes base 36 in lower case and parses either case.
	Base36 = Encoding{formBase36}

	// Base58 writes base 58 with Bitcoin's alphabet: digits, upper case,
	// lower case, no 0, O, I or l.
	Base58 = Encoding{formBase58}

	// Base58Flickr writes base 58 with Flickr's alphabet: lower case before
	// upper case.
	Base58Flickr = Encoding{formBase58Flickr}

	// Base62 writes base 62 with the digits 0-9A-Za-z.
	Base62 = Encoding{formBase62}

	// Base64URL writes the 8 big-endian bytes of the ID in the URL alphabet
	// of RFC 4648, always 11 characters without padding.
	Base64URL = Encoding{formBase64URL}

	// CrockfordCheck writes [Crockford] and a check character after it, for
	// IDs that people type. Parse refuses every text with one wrong
	// character or with two characters swapped.
	CrockfordCheck = Encoding{formCrockfordCheck}
)

// Encodings returns the predeclared encodings in the order of the table at
// [Encoding], without their fixed forms.
func Encodings() []Encoding {
	all := make([]Encoding, 0, formCount/2)
	for form := uint8(0); form < formCount; form += 2 {
		all = append(all, Encoding{form})
	}
	return all
}

// ParseEncoding returns the encoding with a name from the table at
// [Encoding]. A name that ends in -fixed means its fixed form.
func ParseEncoding(name string) (Encoding, error) {
	for form := range codecs {
		if codecs[form].name == name {
			return Encoding{uint8(form)}, nil
		}
	}
	var names []string
	for _, e := range Encodings() {
		names = append(names, e.Name())
	}
	return Encoding{}, fmt.Errorf("unknown encoding %q: want one of %s, or one of these with -fixed",
		shorten(name), strings.Join(names, ", "))
}

// Name returns the name by which [ParseEncoding] finds e.
func (e Encoding) Name() string { return codecs[e.form].name }

// MaxLen returns the length in bytes of the longest text of e, for a column
// or a buffer. All text is ASCII.
func (e Encoding) MaxLen() int { return codecs[e.form].maxLen }

// Fixed returns the fixed-width form of e. Its text, compared byte by byte,
// sorts as the signed IDs do. The fixed form of a fixed form is itself.
//
// Text of the fixed form is a sign followed by the low 63 bits of the ID,
// which are id for non-negative IDs and id + 2^63 for negative ones. The
// sign is '-' for negative IDs; for others it is the zero digit, or '0'
// where the zero digit is '-' itself. The digits are the characters of the
// alphabet in ASCII order (not the order of z-base-32, Flickr and
// base64url), with zero digits in front up to the width of 2^63-1. So all
// text of one encoding has the same length, and Parse refuses any other.
//
// Hence, where the alphabet is in ASCII order, the fixed form of a
// non-negative ID is the plain form with zeros in front: for decimal,
// %020d. The common way to make signed numbers sort is to flip the sign bit
// and pad the result. Then the plain and the fixed form would look alike,
// and a parser of one would read text of the other as a different ID,
// without an error. With the sign, fixed text is longer than all plain
// text, and each parser refuses the other's.
//
// Negative decimals are the exception. Their plain form has a sign as well,
// so plain and fixed text can both have 20 bytes, and the text alone does
// not say which it is: -9223372036854775807 is -1 if it is fixed.
func (e Encoding) Fixed() Encoding { return Encoding{e.form | formFixed} }

// Append appends the text of id to dst. It does not allocate if dst has
// room for MaxLen bytes.
func (e Encoding) Append(dst []byte, id ID) []byte {
	if e.form == formDecimal {
		return appendDecimal(dst, int64(id))
	}
	if e.form&^formFixed == formCrockfordCheck {
		start := len(dst)
		dst = Encoding{formCrockford | e.form&formFixed}.Append(dst, id)
		return append(dst, checkOf(dst[start:]))
	}
	c := &codecs[e.form]
	var buf [maxLen]byte
	switch {
	case e.form&formFixed != 0:
		start := c.putDigits(&buf, uint64(id)&math.MaxInt64, c.maxLen-1) - 1
		if buf[start] = c.plus; id < 0 {
			buf[start] = '-'
		}
		return append(dst, buf[start:]...)
	case e.form == formBase64URL:
		// 64 bits are ten digits of six bits and one of four with zeros
		// below: bytes, not a number.
		start := c.putDigits(&buf, uint64(id)>>4, 10)
		dst = append(dst, buf[start:]...)
		return append(dst, c.digits[id&15<<2])
	default:
		start := c.putDigits(&buf, uint64(id), 1)
		return append(dst, buf[start:]...)
	}
}

// Encode returns the text of id.
func (e Encoding) Encode(id ID) string {
	var buf [maxLen]byte
	return string(e.Append(buf[:0], id))
}

// Parse returns the ID of the whole text s. A [*SyntaxError] names the
// mistake and its place.
func (e Encoding) Parse(s string) (ID, error) {
	id, err := parse(e, s)
	if err != nil {
		return 0, err
	}
	return id, nil
}

// ParseBytes is [Encoding.Parse] for bytes. It does not keep b, and
// allocates only for an error.
func (e Encoding) ParseBytes(b []byte) (ID, error) {
	id, err := parse(e, b)
	if err != nil {
		return 0, err
	}
	return id, nil
}
