package snowfence

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/draw"
)

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

// checkByHand divides polynomials with bits as coefficients: each digit, times t to the power of
// its distance, by t^5 + t^2 + 1.
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

// checkRoundTrip fails unless id is written as textByHand does, and read back.
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

// Where the alphabet is in order, fixed text is plain text with zeros in front,
// and only texts of negative decimals are both plain and fixed.
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

func TestAppendDecimal(t *testing.T) {
	for v := range uint64(10000) {
		v += (9999 - v) * 10000
		text := string(appendTrimmed(nil, v))
		if want := strconv.FormatUint(v, 10); text != want {
			t.Fatalf("got %s, want %s", text, want)
		}
	}
	draw.Check(t, func(t *draw.T) {
		v := int64(ID(t.Word())) >> t.Int(0, 63)
		if got, want := string(appendDecimal(nil, v)), strconv.FormatInt(v, 10); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
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
