package snowfence

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/draw"
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

// allForms returns every encoding, fixed-width forms included.
func allForms() []Encoding {
	var all []Encoding
	for _, e := range Encodings() {
		all = append(all, e, e.Fixed())
	}
	return all
}

// edgeIDs returns IDs around which an encoding may change its mind.
func edgeIDs() []ID {
	var ids []ID
	around := func(v uint64) {
		for d := range uint64(5) {
			ids = append(ids, ID(v+d-2), -ID(v+d-2))
		}
	}
	around(0)
	around(1 << 63)
	for _, base := range []uint64{2, 10, 36, 58, 62} {
		for v := base; ; v *= base {
			around(v)
			if v > math.MaxUint64/base {
				break
			}
		}
	}
	return ids
}

// numberByHand writes v with math/big.
func numberByHand(v *big.Int, alphabet string) string {
	v = new(big.Int).Set(v)
	base, digit := big.NewInt(int64(len(alphabet))), new(big.Int)
	text := ""
	for {
		v.DivMod(v, base, digit)
		text = alphabet[digit.Int64():][:1] + text
		if v.Sign() == 0 {
			return text
		}
	}
}

// checkByHand divides polynomials with bits as coefficients: each digit,
// times t to the power of its distance, by t^5 + t^2 + 1.
func checkByHand(text string) string {
	alphabet := codecs[formCrockford].digits
	sum := new(big.Int)
	for i := range len(text) {
		digit := int64(1) // of a '-'
		if text[i] != '-' {
			digit = int64(strings.IndexByte(alphabet, text[i]))
		}
		sum.Xor(sum, new(big.Int).Lsh(big.NewInt(digit), uint(len(text)-i)))
	}
	for sum.BitLen() > 5 {
		sum.Xor(sum, new(big.Int).Lsh(big.NewInt(0b100101), uint(sum.BitLen()-6)))
	}
	return alphabet[sum.Int64():][:1]
}

// textByHand writes id in a slow and obvious way.
func textByHand(e Encoding, id ID) string {
	if e == CrockfordCheck || e == CrockfordCheck.Fixed() {
		text := textByHand(Encoding{e.form - formCrockfordCheck + formCrockford}, id)
		return text + checkByHand(text)
	}
	alphabet := codecs[e.form].digits
	unsigned := new(big.Int).SetUint64(uint64(id))
	switch {
	case e == Decimal:
		return strconv.FormatInt(int64(id), 10)
	case e == Base64URL:
		text := numberByHand(unsigned.Lsh(unsigned, 2), alphabet)
		return strings.Repeat("A", 11-len(text)) + text
	case e != e.Fixed():
		return numberByHand(unsigned, alphabet)
	}
	sorted := []byte(alphabet)
	slices.Sort(sorted)
	sign, v := string(sorted[:1]), big.NewInt(int64(id))
	if sign == "-" {
		sign = "0"
	}
	if id < 0 {
		sign = "-"
		v.Add(v, new(big.Int).Lsh(big.NewInt(1), 63))
	}
	width := len(numberByHand(big.NewInt(math.MaxInt64), string(sorted)))
	text := numberByHand(v, string(sorted))
	return sign + strings.Repeat(string(sorted[:1]), width-len(text)) + text
}

// checkRoundTrip fails unless id is written as textByHand does, and read
// back.
func checkRoundTrip(t interface{ Fatalf(string, ...any) }, e Encoding, id ID) {
	text := e.Encode(id)
	if want := textByHand(e, id); text != want {
		t.Fatalf("%s of %d: got %s, want %s", e.Name(), id, text, want)
	}
	if got, err := e.Parse(text); got != id || err != nil {
		t.Fatalf("%s %s: got %d, %v, want %d", e.Name(), text, got, err, id)
	}
	if got, err := e.ParseBytes([]byte(text)); got != id || err != nil {
		t.Fatalf("%s %s as bytes: got %d, %v, want %d", e.Name(), text, got, err, id)
	}
	if got := string(e.Append([]byte("x"), id)); got != "x"+text {
		t.Fatalf("%s of %d: appended %s, want x%s", e.Name(), id, got, text)
	}
}

func TestEncodingRoundTrip(t *testing.T) {
	for _, e := range allForms() {
		t.Run(e.Name(), func(t *testing.T) {
			for _, id := range edgeIDs() {
				checkRoundTrip(t, e, id)
			}
			draw.Check(t, func(t *draw.T) {
				checkRoundTrip(t, e, ID(t.Word()))
			})
		})
	}
}

func TestEncodingFixedOrder(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, e Encoding, a, b ID) {
		x, y := e.Encode(a), e.Encode(b)
		if strings.Compare(x, y) != cmp.Compare(a, b) {
			t.Fatalf("%s: %d is %s, %d is %s", e.Name(), a, x, b, y)
		}
	}
	for _, e := range Encodings() {
		e = e.Fixed()
		t.Run(e.Name(), func(t *testing.T) {
			ids := edgeIDs()
			slices.Sort(ids)
			for i := range ids[1:] {
				check(t, e, ids[i], ids[i+1])
			}
			draw.Check(t, func(t *draw.T) {
				a := ID(t.Word())
				check(t, e, a, ID(t.Word()))
				check(t, e, a, a+ID(t.Range(-1<<20, 1<<20)))
			})
		})
	}
}

// Where the alphabet is in order, fixed text is plain text with zeros in
// front, and only texts of negative decimals are both plain and fixed.
func TestEncodingFixedIsPadded(t *testing.T) {
	for _, e := range Encodings() {
		ordered := codecs[e.form].digits == codecs[e.Fixed().form].digits
		for _, id := range edgeIDs() {
			fixed := e.Fixed().Encode(id)
			zero := fixed[:1]
			if ordered && id >= 0 && strings.TrimLeft(fixed, zero) != strings.TrimLeft(e.Encode(id), zero) {
				t.Errorf("%s of %d: %s and %s", e.Name(), id, e.Encode(id), fixed)
			}
			if got, err := e.Parse(fixed); err == nil && got != id && (e != Decimal || id >= 0) {
				t.Errorf("%s %s: read as %d, without complaint, is %d", e.Name(), fixed, got, id)
			}
		}
	}
	if got, want := Decimal.Fixed().Encode(42), fmt.Sprintf("%020d", 42); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The inverse must divide exactly over the whole of a chunk, of which the
// multiples of the base and their neighbours are the critical numbers.
func TestEncodingChunkDivision(t *testing.T) {
	for _, e := range []Encoding{Base36, Base58, Base62, Decimal.Fixed()} {
		c := &codecs[e.form]
		for v := uint64(0); v < c.chunk; v += c.base {
			if v*c.inverse>>inverseShift != v/c.base || (v+c.base-1)*c.inverse>>inverseShift != v/c.base {
				t.Fatalf("base %d: %d", c.base, v)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, e := range allForms() {
		for _, id := range []ID{0, 1, -1, 4594531474933654033, 1<<63 - 1, -1 << 63} {
			f.Add(e.Encode(id))
		}
	}
	f.Add("")
	f.Add("-0")
	f.Add("18446744073709551616")
	f.Fuzz(func(t *testing.T, s string) {
		for _, e := range allForms() {
			id, err := e.Parse(s)
			fromBytes, errBytes := e.ParseBytes([]byte(s))
			if id != fromBytes || (err == nil) != (errBytes == nil) {
				t.Errorf("%s %q: %d, %v, as bytes %d, %v", e.Name(), s, id, err, fromBytes, errBytes)
			}
			if err != nil {
				var syntax *SyntaxError
				if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(s) || len(err.Error()) > 600 {
					t.Errorf("%s %q: %v", e.Name(), s, err)
				}
				continue
			}
			// What else is read as this ID differs in leading zeros and
			// in the case and look of letters, so not in length but for the
			// zeros.
			text := e.Encode(id)
			zero := e.Encode(0)[:1]
			if len(text) > len(s) || len(text) < len(s) && !strings.EqualFold(lookalikes(e, s[:len(s)-len(text)]),
				strings.Repeat(zero, len(s)-len(text))) ||
				!strings.EqualFold(text, lookalikes(e, s[len(s)-len(text):])) {
				t.Errorf("%s %q is read as %d, which is %q", e.Name(), s, id, text)
			}
			checkRoundTrip(t, e, id)
		}
	})
}

// lookalikes replaces the letters that Crockford takes for digits.
func lookalikes(e Encoding, s string) string {
	if !slices.Contains([]Encoding{Crockford, Crockford.Fixed(), CrockfordCheck, CrockfordCheck.Fixed()}, e) {
		return s
	}
	return strings.NewReplacer("I", "1", "i", "1", "L", "1", "l", "1", "O", "0", "o", "0").Replace(s)
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`1`, `"1"`, `null`, `-1`, `1e3`, `1.0`, `9223372036854775808`, `"\u0031"`, `[1]`, `""`, `-0`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const before = 12345
		id, want := ID(before), int64(before)
		err := json.Unmarshal(data, &id)
		if err != nil {
			if id != before {
				t.Errorf("%q: the error %v came with the ID %d", data, err, id)
			}
			var number int64
			if json.Unmarshal(data, &number) == nil && number != 0 {
				t.Errorf("%q: an integer was refused: %v", data, err)
			}
			return
		}
		number := strings.Trim(string(data), " \t\r\n")
		if n := len(number); n > 1 && number[0] == '"' {
			number = strings.TrimLeft(number[1:n-1], "0")
			if number == "" {
				number = "0"
			}
		}
		if err := json.Unmarshal([]byte(number), &want); err != nil || int64(id) != want {
			t.Errorf("%q: got %d, encoding/json says %d, %v", data, id, want, err)
		}
		text := must(json.Marshal(id))
		var again ID
		if err := json.Unmarshal(text, &again); err != nil || again != id {
			t.Errorf("%s: got %d, %v, want %d", text, again, err, id)
		}
	})
}
