package ff1

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

func unhex(s string) []byte {
	return must(hex.DecodeString(s))
}

const (
	key128 = "2B7E151628AED2A6ABF7158809CF4F3C"
	key192 = key128 + "EF4359D8D580AA4F"
	key256 = key192 + "7F036D6F04FC6A94"

	digits = "0123456789"
	mixed  = "0123456789abcdefghi"
	tweak1 = "39383736353433323130"
	tweak2 = "3737373770717273373737"
)

// samples are the nine of NIST's "FF1 samples", in its order:
// https://csrc.nist.gov/CSRC/media/Projects/Cryptographic-Standards-and-Guidelines/documents/examples/FF1samples.pdf
var samples = []struct {
	key, tweak    string
	radix         int
	plain, cipher string
}{
	{key128, "", 10, digits, "2433477484"},
	{key128, tweak1, 10, digits, "6124200773"},
	{key128, tweak2, 36, mixed, "a9tv40mll9kdu509eum"},
	{key192, "", 10, digits, "2830668132"},
	{key192, tweak1, 10, digits, "2496655549"},
	{key192, tweak2, 36, mixed, "xbj3kv35jrawxv32ysr"},
	{key256, "", 10, digits, "6657667009"},
	{key256, tweak1, 10, digits, "1001623463"},
	{key256, tweak2, 36, mixed, "xs8a0azh2avyalyzuwd"},
}

// TestOracleSamples is why the oracle can be trusted.
func TestOracleSamples(t *testing.T) {
	const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
	numerals := func(s string) []uint16 {
		var x []uint16
		for _, r := range s {
			x = append(x, uint16(strings.IndexRune(alphabet, r)))
		}
		return x
	}
	text := func(x []uint16) string {
		var s strings.Builder
		for _, d := range x {
			s.WriteByte(alphabet[d])
		}
		return s.String()
	}
	for i, v := range samples {
		o := newOracle(t, unhex(v.key), v.radix, unhex(v.tweak))
		if got := text(o.encrypt(numerals(v.plain))); got != v.cipher {
			t.Errorf("sample %d: encrypted to %s, want %s", i+1, got, v.cipher)
		}
		if got := text(o.decrypt(numerals(v.cipher))); got != v.plain {
			t.Errorf("sample %d: decrypted to %s, want %s", i+1, got, v.plain)
		}
	}
}

// TestBinaryVector is an answer in radix 2 of another library: NIST has
// none. It is from the tests of Ubiq Security's FPE libraries, as "base2"
// there.
func TestBinaryVector(t *testing.T) {
	const (
		key    = "f4a116d6ee406a53a56cbe0f4aa7b1001cdc0a55cac963cf5ace390488b3477a"
		tweak  = "fd7f4b9945a3c535adb4720027116ca0f4987d7f3fdba9bbc40e75375feaa63c"
		plain  = "00000101011011011101001001010011100111100011001"
		cipher = "10110101001110101101110000011000000011111100111"
	)
	x, errX := strconv.ParseUint(plain, 2, 64)
	y, errY := strconv.ParseUint(cipher, 2, 64)
	if errX != nil || errY != nil {
		t.Fatal(errX, errY)
	}
	o := newOracle(t, unhex(key), 2, unhex(tweak))
	if got := o.number(o.encrypt, len(plain), x); got != y {
		t.Errorf("the oracle encrypted to %b, want %b", got, y)
	}
	c := must(New(unhex(key), len(plain), unhex(tweak)))
	if got := c.Encrypt(x); got != y {
		t.Errorf("encrypted to %b, want %b", got, y)
	}
	if got := c.Decrypt(y); got != x {
		t.Errorf("decrypted to %b, want %b", got, x)
	}
}

// TestScratchIsCleared: numbers on their way through the rounds do not wait
// in memory for others to read.
func TestScratchIsCleared(t *testing.T) {
	c := mustCipher(t, []byte("0123456789abcdef"), 40, nil)
	s := *c.secret
	buf := new(scratch)
	s.scratch.New = func() any { return buf }
	x := make([]uint64, 100)
	for name, f := range map[string]func(){
		"Encrypt":    func() { c.Encrypt(1) },
		"Decrypt":    func() { c.Decrypt(1) },
		"EncryptAll": func() { c.EncryptAll(x) },
	} {
		if f(); *buf != (scratch{}) {
			t.Errorf("after %s: %x", name, *buf)
		}
	}
}

// TestNeverPrinted prints ciphers in all ways and looks for the key and for
// what was worked out from it.
func TestNeverPrinted(t *testing.T) {
	key := []byte("\xc3\x5a\x91\xe7 a key of 16"[:16])
	c := mustCipher(t, key, 53, []byte("t"))
	type holder struct {
		hidden   *Cipher
		hiddenBy Cipher
		Shown    *Cipher
		ShownBy  Cipher
	}
	h := holder{c, *c, c, *c}
	var out bytes.Buffer
	for _, v := range []any{c, *c, h, &h, []Cipher{*c}, []*Cipher{c}, map[string]*Cipher{"c": c}, [1]holder{h}} {
		for _, verb := range strings.Fields("%v %+v %#v %s %q %x %X %d %o %b %U %c %t %T %p") {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		b := must(json.Marshal(v))
		out.Write(b)
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "c", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "c", v)
	}
	if got := fmt.Sprintf("%+v", c); got != "ff1.Cipher[redacted]" {
		t.Errorf("%%+v is %q", got)
	}
	printed := strings.ToLower(out.String())
	s := *c.secret
	for _, w := range []any{s.high, s.low, key} {
		for _, verb := range []string{"%v", "%x", "%o", "%b", "%s"} {
			if strings.Contains(printed, strings.ToLower(fmt.Sprintf(verb, w))) {
				t.Errorf("%s of the keys was printed", verb)
			}
		}
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }
