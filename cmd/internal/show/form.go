package show

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence"
)

// Form is a way to write IDs: an encoding of this library or of another
// one.
type Form interface {
	Name() string
	MaxLen() int
	Append(b []byte, id snowfence.ID) []byte
	ParseBytes(s []byte) (snowfence.ID, error)
}

// Forms returns all forms: the encodings, and two of
// github.com/bwmarrin/snowflake.
func Forms() (list []Form) {
	for _, e := range snowfence.Encodings() {
		list = append(list, e)
	}
	return append(list, base2{}, bwmarrin64{})
}

// ParseForm returns the form of a name.
func ParseForm(name string) (Form, error) {
	for _, f := range Forms() {
		if f.Name() == name {
			return f, nil
		}
	}
	e, err := snowfence.ParseEncoding(name) // of fixed length, too
	if err != nil {
		return nil, fmt.Errorf("%w; or base2 or bwmarrin64", err)
	}
	return e, nil
}

// base2 writes the signed number in base 2.
type base2 struct{}

func (base2) Name() string { return "base2" }

func (base2) MaxLen() int { return 64 }

func (base2) Append(b []byte, id snowfence.ID) []byte { return strconv.AppendInt(b, int64(id), 2) }

func (f base2) ParseBytes(s []byte) (snowfence.ID, error) {
	digits := strings.TrimPrefix(string(s), "-")
	if i := strings.IndexFunc(digits, func(c rune) bool { return c != '0' && c != '1' }); i >= 0 {
		return 0, syntaxError(f, s, len(s)-len(digits)+i, "it has characters that are no digits 0 and 1")
	}
	n, err := strconv.ParseInt(string(s), 2, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, syntaxError(f, s, 0, "the number is larger than 63 bits")
	case err != nil:
		return 0, syntaxError(f, s, len(s), "it has no digits")
	}
	return snowfence.ID(n), nil
}

// bwmarrin64 writes the decimal text in base 64, with padding.
type bwmarrin64 struct{}

func (bwmarrin64) Name() string { return "bwmarrin64" }

func (bwmarrin64) MaxLen() int { return base64.StdEncoding.EncodedLen(snowfence.Decimal.MaxLen()) }

func (bwmarrin64) Append(b []byte, id snowfence.ID) []byte {
	var text [32]byte
	return base64.StdEncoding.AppendEncode(b, snowfence.Decimal.Append(text[:0], id))
}

func (f bwmarrin64) ParseBytes(s []byte) (snowfence.ID, error) {
	if len(s) > f.MaxLen() {
		return 0, syntaxError(f, s, f.MaxLen(), "the text is longer than any ID's")
	}
	if i := strings.IndexAny(string(s), "\r\n"); i >= 0 { // the decoder skips them
		return 0, syntaxError(f, s, i, "it has a line break")
	}
	text, err := base64.StdEncoding.Strict().DecodeString(string(s))
	var at base64.CorruptInputError
	if errors.As(err, &at) {
		return 0, syntaxError(f, s, int(at), "it is no base 64")
	}
	id, err := snowfence.Decimal.ParseBytes(text)
	if err != nil {
		return 0, syntaxError(f, s, 0, "it holds no decimal number")
	}
	return id, nil
}

func syntaxError(f Form, s []byte, offset int, reason string) error {
	return &snowfence.SyntaxError{
		Encoding: f.Name(), Input: string(s[:min(len(s), 48)]), Offset: offset, Reason: reason,
	}
}
