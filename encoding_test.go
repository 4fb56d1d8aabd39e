package snowfence

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestEncodingErrors(t *testing.T) {
	for _, v := range []struct {
		enc    Encoding
		text   string
		offset int
		reason string
	}{
		{Decimal, "-", 1, "no digits"},
		{Decimal, "+1", 0, "'+' is not a digit"},
		{Decimal, "1\n", 1, `'\n' is not a digit`},
		{Decimal, "12é", 2, "0xc3 is not a digit"},
		{Decimal, "--1", 1, "'-' is not a digit"},
		{Decimal, "-0", 1, "dec-fixed"},
		{Decimal, "-0000000000000000001", 1, "dec-fixed"},
		{Decimal, "9223372036854775808", 18, "unsigned IDs, it is the ID -9223372036854775808 here"},
		{Decimal, "18446744073709551615", 19, "unsigned IDs, it is the ID -1 here"},
		{Decimal, "18446744073709551616", 19, "64 bits"},
		{Decimal, "99999999999999999999", 19, "64 bits"},
		{Decimal, "-9223372036854775809", 19, "the lowest ID is -2^63"},
		{Decimal, "000000000000000000042", 20, "more than the 20"},
		{Hex, "0x1f", 1, "'x' is not a digit"},
		{Hex, "00000000000000000", 16, "read it as hex-fixed"},
		{Base32Hex, "g000000000000", 12, "64 bits"},
		{Base32Hex, "03vgoe12ccb8gh", 13, "read it as base32hex-fixed"},
		{Crockford, "G000000000000", 12, "64 bits"},
		{CrockfordCheck, "0", 0, "no digits"},
		{CrockfordCheck, "-12", 0, "'-' is not a digit"},
		{CrockfordCheck, "13", 1, "the check character '3' does not fit"},
		{CrockfordCheck, "21", 1, "the check character '1' does not fit"},
		{CrockfordCheck, "000000000000012", 14, "read it as crockfordcheck-fixed"},
		{CrockfordCheck.Fixed(), "-00000000000012", 14, "the check character '2' does not fit"},
		{CrockfordCheck.Fixed(), "000000000000013", 14, "the check character '3' does not fit"},
		{ZBase32, "v", 0, "'v' is not a digit"},
		{Base58, "jpXCZedGfVR", 10, "64 bits"},
		{Base62, "zzzzzzzzzzz", 10, "64 bits"},
		{Base64URL, "AAAAAAAAAA", 10, "has 11"},
		{Base64URL, "AAAAAAAAAAB", 10, "beyond the 64"},
		{Base64URL, "AAAA+AAAAAA", 4, "'+' is not a digit"},
		{Base64URL, "0-----------", 11, "read it as base64url-fixed"},
		{Decimal.Fixed(), "42", 2, "read it as dec"},
		{Decimal.Fixed(), "+0000000000000000042", 0, "'+' is not the sign, which is '-' or '0'"},
		{Decimal.Fixed(), "10000000000000000000", 0, "'1' is not the sign"},
		{Decimal.Fixed(), "09223372036854775808", 19, "at most 2^63-1"},
		{Decimal.Fixed(), "-9223372036854775808", 19, "at most 2^63-1"},
		{Hex.Fixed(), "08000000000000000", 16, "at most 2^63-1"},
		{Hex.Fixed(), "0000000000000000g", 16, "'g' is not a digit"},
		{Base62.Fixed(), "0zzzzzzzzzzz", 11, "64 bits"},
		{Base64URL.Fixed(), "A-----------", 0, "'A' is not the sign"},
	} {
		id, err := v.enc.Parse(v.text)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || !errors.Is(err, ErrInvalidID) {
			t.Errorf("%s %q: got %d, %v", v.enc.Name(), v.text, id, err)
			continue
		}
		if id != 0 || syntax.Encoding != v.enc.Name() || syntax.Input != v.text ||
			syntax.Offset != v.offset || !strings.Contains(syntax.Reason, v.reason) {
			t.Errorf("%s %q: got %d, %v, want %q at byte %d", v.enc.Name(), v.text, id, err, v.reason, v.offset)
		}
	}
}

func TestEncodingErrorsOfAnyEncoding(t *testing.T) {
	garbage := strings.Repeat("0", 1<<20)
	for _, e := range allForms() {
		for text, want := range map[string]string{
			"":      "is empty",
			"\x00":  "",
			"ä":     "",
			garbage: "has 1048576 bytes",
		} {
			_, err := e.Parse(text)
			if !errors.Is(err, ErrInvalidID) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %.10q: got %v, want %q", e.Name(), text, err, want)
			} else if n := len(err.Error()); n > 300 {
				t.Errorf("%s %.10q: an error of %d bytes", e.Name(), text, n)
			}
			if _, err2 := e.ParseBytes([]byte(text)); err2.Error() != err.Error() {
				t.Errorf("%s: bytes fail with %v, the string with %v", e.Name(), err2, err)
			}
		}
	}
}

func TestEncodingNames(t *testing.T) {
	if (Encoding{}) != Decimal {
		t.Error("the zero value is not Decimal")
	}
	if got := len(Encodings()); got != 11 {
		t.Errorf("%d encodings", got)
	}
	for _, e := range allForms() {
		if got, err := ParseEncoding(e.Name()); got != e || err != nil {
			t.Errorf("%s: got %s, %v", e.Name(), got.Name(), err)
		}
		if e.Fixed().Fixed() != e.Fixed() {
			t.Errorf("%s: the fixed form of the fixed form is another", e.Name())
		}
	}
	for _, name := range []string{"", "Dec", "fixed", "-fixed", "hex-fixed-fixed", strings.Repeat("x", 1<<20)} {
		_, err := ParseEncoding(name)
		if err == nil || len(err.Error()) > 300 || !strings.Contains(err.Error(), "dec, hex, base32hex") {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}

func TestEncodingMaxLen(t *testing.T) {
	for _, e := range allForms() {
		longest := 0
		for _, id := range edgeIDs() {
			n := len(e.Encode(id))
			longest = max(longest, n)
			if e == e.Fixed() && n != e.MaxLen() {
				t.Errorf("%s of %d: %d bytes instead of %d", e.Name(), id, n, e.MaxLen())
			}
		}
		if longest != e.MaxLen() {
			t.Errorf("%s: MaxLen is %d, the longest text has %d", e.Name(), e.MaxLen(), longest)
		}
		if e != Decimal && e != e.Fixed() && e.MaxLen() >= e.Fixed().MaxLen() {
			t.Errorf("%s: plain and fixed text can have the same length", e.Name())
		}
	}
}

func TestEncodingAllocs(t *testing.T) {
	for _, e := range allForms() {
		for _, id := range []ID{0, 7, 4594531474933654033, -1, math.MinInt64} {
			dst := make([]byte, 0, e.MaxLen())
			if n := testing.AllocsPerRun(100, func() { dst = e.Append(dst[:0], id) }); n != 0 {
				t.Errorf("%s of %d: Append allocates %v times", e.Name(), id, n)
			}
			if n := testing.AllocsPerRun(100, func() { _, _ = e.ParseBytes(dst) }); n != 0 {
				t.Errorf("%s of %d: ParseBytes allocates %v times", e.Name(), id, n)
			}
			// A text of one byte costs no allocation at all.
			if n := testing.AllocsPerRun(100, func() { _ = e.Encode(id) }); n > 1 {
				t.Errorf("%s of %d: Encode allocates %v times", e.Name(), id, n)
			}
		}
	}
}

// In a column that ignores case, no text of these forms is a duplicate. The
// other forms have some.
func TestTextsWithoutCase(t *testing.T) {
	safe := []string{"dec", "hex", "base32hex", "crockford", "zbase32", "base36", "crockfordcheck"}
	for _, e := range Encodings() {
		seen := map[string]bool{}
		for i := range 2000 {
			seen[strings.ToLower(e.Encode(ID(250096918090633216+int64(i))))] = true
		}
		if got := len(seen) == 2000; got != slices.Contains(safe, e.Name()) {
			t.Errorf("%s: %d of 2000 texts differ", e.Name(), len(seen))
		}
	}
}

// A wrong character, two that changed places, and equal ones that became
// others in two places are found, wherever they stand.
func TestCheckCharacterFinds(t *testing.T) {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		text := CrockfordCheck.Encode(ID(1<<59 + r.Uint64N(1<<59)))
		passes := func(wrong []byte) {
			if _, err := CrockfordCheck.Parse(string(wrong)); err == nil && string(wrong) != text {
				t.Errorf("%s passes for %s", wrong, text)
			}
		}
		for i := range text {
			for j := range text {
				b := []byte(text)
				b[i], b[j] = b[j], b[i]
				passes(b)
				for _, d := range []byte(digits) {
					b := []byte(text)
					if b[i] == b[j] {
						b[i], b[j] = d, d
						passes(b)
					}
				}
			}
		}
	}
}
