package sparx

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

// eachPath runs a test on every path that this CPU has.
func eachPath(t *testing.T, test func(t *testing.T, p Path)) {
	t.Helper()
	for _, p := range Available() {
		t.Run(string(p), func(t *testing.T) { test(t, p) })
	}
}

func unhex(s string) []byte {
	return must(hex.DecodeString(s))
}

// TestPaper has the vector that stands in the cipher's paper.
func TestPaper(t *testing.T) {
	key := unhex("00112233445566778899aabbccddeeff")
	plain := unhex("0123456789abcdef")
	want := unhex("2bbef15201f55f98")
	eachPath(t, func(t *testing.T, p Path) {
		c := must(newOn(p, key))
		x, y := binary.LittleEndian.Uint64(plain), binary.LittleEndian.Uint64(want)
		if got := c.Encrypt64(x); got != y {
			t.Errorf("%#x encrypts to %#x, want %#x", x, got, y)
		}
		if got := c.Decrypt64(y); got != x {
			t.Errorf("%#x decrypts to %#x, want %#x", y, got, x)
		}
	})
}

// TestRandflake has IDs that the Randflake library made.
func TestRandflake(t *testing.T) {
	data := must(os.ReadFile("testdata/randflake.json"))
	var vectors []struct {
		Secret    string
		Raw       string `json:"raw_id"`
		Encrypted string `json:"encrypted_id"`
	}
	if err := json.Unmarshal(data, &vectors); err != nil || len(vectors) == 0 {
		t.Fatal(err, len(vectors))
	}
	eachPath(t, func(t *testing.T, p Path) {
		for _, v := range vectors {
			c := must(newOn(p, unhex(v.Secret)))
			raw, err1 := strconv.ParseInt(v.Raw, 10, 64)
			want, err2 := strconv.ParseInt(v.Encrypted, 10, 64)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if got := int64(c.Encrypt64(uint64(raw))); got != want {
				t.Errorf("Encrypt64(%d) = %d, want %d", raw, got, want)
			}
			if got := int64(c.Decrypt64(uint64(want))); got != raw {
				t.Errorf("Decrypt64(%d) = %d, want %d", want, got, raw)
			}
			batch := make([]uint64, 300)
			for i := range batch {
				batch[i] = uint64(raw)
			}
			c.EncryptBlocks(batch)
			for i, got := range batch {
				if int64(got) != want {
					t.Fatalf("EncryptBlocks: [%d] = %d, want %d", i, int64(got), want)
				}
			}
		}
	})
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// says reports an error without a text, and a call without an error.
var says = tests.Says

func TestKeySize(t *testing.T) {
	for _, n := range []int{0, 1, 15, 17, 32} {
		says(t, errOf(New(make([]byte, n))), fmt.Sprint(n), "a key of %d bytes", n)
	}
}

// TestNeverPrinted prints ciphers in all ways and looks for any number of
// the key schedule.
func TestNeverPrinted(t *testing.T) {
	_, key := random(4)
	c := must(newOn(SWAR, key))
	type holder struct {
		hidden   *Cipher
		hiddenBy Cipher
		Shown    *Cipher
		ShownBy  Cipher
	}
	h := holder{c, *c, c, *c}
	var out bytes.Buffer
	for _, v := range []any{
		c, *c, h, &h,
		[]Cipher{*c},
		[]*Cipher{c},
		map[string]*Cipher{"c": c},
		map[string]Cipher{"c": *c},
		[1]holder{h},
	} {
		for _, verb := range strings.Fields("%v %+v %#v %s %q %x %X %d %o %b %U %c %t %T %p") {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		b := must(json.Marshal(v))
		out.Write(b)
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "c", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "c", v)
	}
	if got := fmt.Sprintf("%+v", c); got != "sparx.Cipher[redacted]" {
		t.Errorf("%%+v is %q", got)
	}
	printed := strings.ToLower(out.String())
	for _, w := range append(c.keys().enc[:], c.keys().dec[:]...) {
		if w == 0 {
			continue
		}
		for _, s := range []string{fmt.Sprint(w), fmt.Sprintf("%x", w), fmt.Sprintf("%o", w), fmt.Sprintf("%b", w)} {
			if strings.Contains(printed, s) {
				t.Fatalf("%s of the keys was printed", s)
			}
		}
	}
	if strings.Contains(printed, fmt.Sprintf("%x", key)) || strings.Contains(printed, fmt.Sprint(key)) {
		t.Error("the key was printed")
	}
}
