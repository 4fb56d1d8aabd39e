package snowfence

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

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
			// in the case and look of letters, so not in length but for the zeros.
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
		text, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		var again ID
		if err := json.Unmarshal(text, &again); err != nil || again != id {
			t.Errorf("%s: got %d, %v, want %d", text, again, err, id)
		}
	})
}
