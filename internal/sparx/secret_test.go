package sparx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

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
