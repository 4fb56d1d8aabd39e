package ff1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

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
