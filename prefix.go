package snowfence

import (
	"database/sql/driver"
	"fmt"
	"log/slog"
	"strings"
)

// Prefix is text for IDs that says what they name: ord_3vgoe12ccb8gh. The zero
// value writes plain decimals. Prefixes are comparable and safe for concurrent
// use.
//
// [Typed] also lets the compiler tell kinds of IDs apart.
type Prefix struct {
	text string // with the separator; empty in the zero value
	enc  Encoding
}

// NewPrefix returns a prefix for IDs in an encoding. The name has 1 to 63 of the
// characters a-z, 0-9 and _, starts with a letter and does not end with _.
// Without '-' in the encoding, a double click selects the whole text.
func NewPrefix(name string, enc Encoding) (Prefix, error) {
	fault := ""
	switch {
	case name == "":
		fault = "it is empty"
	case len(name) > 63:
		fault = fmt.Sprintf("it has %d bytes, more than 63", len(name))
	case name[0] < 'a' || name[0] > 'z':
		fault = "it does not start with a letter a-z"
	case name[len(name)-1] == '_':
		fault = "it ends with _, which is added by itself"
	}
	for i := 0; i < len(name) && fault == ""; i++ {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			fault = fmt.Sprintf("byte %d, %s, is none of a-z, 0-9 and _", i, character(c))
		}
	}
	if fault != "" {
		return Prefix{}, fmt.Errorf("prefix %q: %s", shorten(name), fault)
	}
	return Prefix{name + "_", enc}, nil
}

// MustPrefix is [NewPrefix] for package variables: it panics on an error.
func MustPrefix(name string, enc Encoding) Prefix {
	p, err := NewPrefix(name, enc)
	if err != nil {
		panic(err)
	}
	return p
}

// Append appends the name, _ and the text of id to dst.
func (p Prefix) Append(dst []byte, id ID) []byte {
	return p.enc.Append(append(dst, p.text...), id)
}

// Encode returns the name, _ and the text of id.
func (p Prefix) Encode(id ID) string {
	var buf [64 + maxLen]byte
	return string(p.Append(buf[:0], id))
}

// Parse returns the ID of s, which must have this prefix. The error is a
// [*SyntaxError].
func (p Prefix) Parse(s string) (ID, error) {
	c := &codecs[p.enc.form]
	digits, ok := strings.CutPrefix(s, p.text)
	if !ok {
		got := "none"
		if i := strings.LastIndexByte(s, '_'); i >= 0 {
			got = fmt.Sprintf("%q", shorten(s[:i+1]))
		}
		return 0, syntaxErrorf(c, s, 0, "the prefix is wrong: expected %q, got %s", p.text, got)
	}
	id, err := parse(p.enc, digits)
	if err != nil {
		return 0, syntaxErrorf(c, s, len(p.text)+err.Offset, "%s", err.Reason)
	}
	return id, nil
}

// Kind is a kind of thing with IDs, usually an empty struct. Prefix must always
// return the same value for the zero value.
type Kind interface{ Prefix() Prefix }

// Typed is an ID of one kind of thing. Text and JSON have the prefix of the kind,
// and the compiler keeps kinds apart, so nobody passes the ID of a user for that
// of an order:
//
//	type order struct{}
//
//	func (order) Prefix() snowfence.Prefix { return orderPrefix }
//
//	var orderPrefix = snowfence.MustPrefix("ord", snowfence.Base32Hex)
//
//	type OrderID = snowfence.Typed[order]
//
// Convert as between integers: OrderID(id), ID(orderID). A database has the plain
// integer.
type Typed[K Kind] ID

func prefixOf[K Kind]() Prefix {
	var kind K
	return kind.Prefix()
}

// String returns the text of the ID with its prefix.
func (t Typed[K]) String() string { return prefixOf[K]().Encode(ID(t)) }

// Format implements [fmt.Formatter]: v, s and q write the text, x, X, o, O and b
// the unsigned number, and d the signed one, as [ID.Format] does.
func (t Typed[K]) Format(f fmt.State, verb rune) { formatText(f, verb, t.String(), ID(t)) }

// AppendText appends the text with its prefix to b. The error is always nil.
func (t Typed[K]) AppendText(b []byte) ([]byte, error) { return prefixOf[K]().Append(b, ID(t)), nil }

// MarshalText returns the text with its prefix, so JSON is a string. The error is
// always nil.
func (t Typed[K]) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// UnmarshalText reads text with the prefix of K, and no other.
func (t *Typed[K]) UnmarshalText(text []byte) error {
	id, err := prefixOf[K]().Parse(string(text))
	if err != nil {
		return err
	}
	*t = Typed[K](id)
	return nil
}

// Value is [ID.Value].
func (t Typed[K]) Value() (driver.Value, error) { return ID(t).Value() }

// Scan is [ID.Scan].
func (t *Typed[K]) Scan(src any) error { return (*ID)(t).Scan(src) }

// LogValue implements [slog.LogValuer] with the text that String returns.
func (t Typed[K]) LogValue() slog.Value { return slog.StringValue(t.String()) }
