package snowfence

import (
	"database/sql/driver"
	"fmt"
	"log/slog"
	"strings"
)

// Prefix is how the IDs of one kind are written: a name, an encoding, and a mask if
// people must not guess them: ord_3vgoe12ccb8gh. The zero value writes no IDs.
// Prefixes are comparable and safe for concurrent use.
//
// [Typed] also lets the compiler tell kinds of IDs apart.
type Prefix struct {
	text   string // with the separator; empty without a name
	enc    Encoding
	mask   *Mask
	masked bool
	made   bool // not the zero value
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
	return Prefix{text: name + "_", enc: enc, made: true}, nil
}

// MustPrefix is [NewPrefix] for package variables: it panics on an error.
func MustPrefix(name string, enc Encoding) Prefix {
	p, err := NewPrefix(name, enc)
	if err != nil {
		panic(err)
	}
	return p
}

// NoPrefix returns the prefix without a name: texts are the ID alone, in an encoding.
func NoPrefix(enc Encoding) Prefix { return Prefix{enc: enc, made: true} }

// Masked returns the prefix with texts of public IDs. Half of these are negative, so
// choose an unsigned encoding. Any text of the right form is some ID, so look it up;
// [CrockfordCheck] finds typing errors. With a nil mask nothing is written or read.
func (p Prefix) Masked(m *Mask) Prefix {
	p.mask, p.masked = m, true
	return p
}

// fault says why the prefix can write no ID; "" if it can.
func (p Prefix) fault() string {
	switch {
	case !p.made:
		return "the prefix is the zero value: make it with NewPrefix"
	case p.masked && p.mask == nil:
		return "the mask is nil: make it before the first ID is written"
	}
	return ""
}

func (p Prefix) err() error {
	if fault := p.fault(); fault != "" {
		return fmt.Errorf("snowfence: %w: %s", ErrKey, fault)
	}
	return nil
}

// shown returns the ID that the text has.
func (p Prefix) shown(id ID) ID {
	if p.masked {
		return p.mask.Public(id)
	}
	return id
}

// Append appends the name, _ and the text of id to dst; without a usable prefix the
// reason in brackets.
func (p Prefix) Append(dst []byte, id ID) []byte {
	if fault := p.fault(); fault != "" {
		return fmt.Appendf(dst, "!(%s)", fault)
	}
	return p.enc.Append(append(dst, p.text...), p.shown(id))
}

// Encode returns what Append appends.
func (p Prefix) Encode(id ID) string {
	var buf [64 + maxLen]byte
	return string(p.Append(buf[:0], id))
}

// Parse returns the ID of s, which must have this prefix. The error is a
// [*SyntaxError].
func (p Prefix) Parse(s string) (ID, error) {
	c := &codecs[p.enc.form]
	if fault := p.fault(); fault != "" {
		return 0, syntaxErrorf(c, s, 0, "%s", fault)
	}
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
	if p.masked {
		id = p.mask.Private(id)
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
// integer. With the prefix .Masked(mask), text, JSON, logs and fmt show public IDs
// only, so no handler can forget to mask one.
type Typed[K Kind] ID

func prefixOf[K Kind]() Prefix {
	var kind K
	return kind.Prefix()
}

// String returns the text of the ID with its prefix.
func (t Typed[K]) String() string { return prefixOf[K]().Encode(ID(t)) }

// Format implements [fmt.Formatter]: v, s and q write the text, x, X, o, O and b
// the unsigned number, and d the signed one, as [ID.Format] does; with a mask the
// number of the public ID.
func (t Typed[K]) Format(f fmt.State, verb rune) {
	p := prefixOf[K]()
	if p.fault() != "" {
		fmt.Fprint(f, p.Encode(0)) // the reason
		return
	}
	formatText(f, verb, p.Encode(ID(t)), p.shown(ID(t)))
}

// AppendText appends the text with its prefix to b. The error matches [ErrKey] and
// means that the prefix is not usable.
func (t Typed[K]) AppendText(b []byte) ([]byte, error) {
	p := prefixOf[K]()
	if err := p.err(); err != nil {
		return b, err
	}
	return p.Append(b, ID(t)), nil
}

// MarshalText returns the text with its prefix, so JSON is a string.
func (t Typed[K]) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// MarshalJSON returns the text as a JSON string.
func (t Typed[K]) MarshalJSON() ([]byte, error) {
	b, err := t.AppendText([]byte{'"'})
	if err != nil {
		return nil, err
	}
	return append(b, '"'), nil
}

// UnmarshalJSON reads the text from a JSON string. null leaves the ID unchanged.
func (t *Typed[K]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if n := len(data); n >= 2 && data[0] == '"' && data[n-1] == '"' {
		data = data[1 : n-1] // the tag ",string" has removed them
	}
	return t.UnmarshalText(data)
}

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
