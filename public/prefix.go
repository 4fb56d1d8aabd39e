// Package public writes IDs for people and programs outside a system: with
// a prefix that says what they identify (ord_3vgoe12ccb8gh), masked so that
// people cannot guess others, and with a Go type for each kind. Inside,
// databases and logs keep plain IDs.
package public

import (
	"errors"
	"fmt"
	"strings"

	"github.com/snowfence/snowfence"
)

// Prefix is the form of the IDs of one kind, such as ord_3vgoe12ccb8gh: a
// name, an encoding, and a mask if people must not guess IDs. The zero
// value writes no IDs. Prefixes are comparable and safe for concurrent use.
//
// [ID] also lets the compiler tell kinds of IDs apart.
type Prefix struct {
	text    string // with the separator; empty without a name
	enc     snowfence.Encoding
	mask    *Mask
	hasMask bool
	isSet   bool // not the zero value
}

// NewPrefix returns a prefix for IDs in an encoding. The name has 1 to 63
// of the characters a-z, 0-9 and _, starts with a letter and does not end
// with _. Without '-' in the encoding, a double click selects the whole
// text.
func NewPrefix(name string, enc snowfence.Encoding) (Prefix, error) {
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
			fault = fmt.Sprintf("byte %d, %q, is none of a-z, 0-9 and _", i, name[i:i+1])
		}
	}
	if fault != "" {
		return Prefix{}, fmt.Errorf("prefix %q: %s", shorten(name), fault)
	}
	return Prefix{text: name + "_", enc: enc, isSet: true}, nil
}

// MustPrefix is [NewPrefix] for package variables: it panics on an error.
func MustPrefix(name string, enc snowfence.Encoding) Prefix {
	p, err := NewPrefix(name, enc)
	if err != nil {
		panic(err)
	}
	return p
}

// NoPrefix returns the prefix without a name: texts are the ID alone, in an
// encoding.
func NoPrefix(enc snowfence.Encoding) Prefix { return Prefix{enc: enc, isSet: true} }

// Masked returns the prefix with a mask, so that texts are of public IDs.
// Half of these are negative, so choose an unsigned encoding. Every text of
// the right form is some ID, so look it up; [snowfence.CrockfordCheck]
// finds typing errors. With a nil mask the prefix writes and reads no IDs.
func (p Prefix) Masked(m *Mask) Prefix {
	p.mask, p.hasMask = m, true
	return p
}

func (p Prefix) err() error {
	if fault := p.fault(); fault != "" {
		return fmt.Errorf("snowfence: %w: %s", snowfence.ErrKey, fault)
	}
	return nil
}

// fault says why the prefix can write no ID; "" if it can.
func (p Prefix) fault() string {
	switch {
	case !p.isSet:
		return "the prefix is the zero value: make it with NewPrefix"
	case p.hasMask && p.mask == nil:
		return "the mask is nil: make it before the first ID is written"
	}
	return ""
}

// Append appends the name, _ and the text of id to dst. If the prefix is
// not usable, it appends the reason in brackets.
func (p Prefix) Append(dst []byte, id snowfence.ID) []byte {
	if fault := p.fault(); fault != "" {
		return fmt.Appendf(dst, "!(%s)", fault)
	}
	return p.enc.Append(append(dst, p.text...), p.shown(id))
}

// shown returns the ID that the text has.
func (p Prefix) shown(id snowfence.ID) snowfence.ID {
	if p.hasMask {
		return p.mask.Public(id)
	}
	return id
}

// Encode returns the text that Append appends.
func (p Prefix) Encode(id snowfence.ID) string {
	return string(p.Append(make([]byte, 0, len(p.text)+p.enc.MaxLen()), id))
}

// Parse returns the ID of s, which must have this prefix. The error is a
// [*snowfence.SyntaxError].
func (p Prefix) Parse(s string) (snowfence.ID, error) {
	if fault := p.fault(); fault != "" {
		return 0, p.syntaxError(s, 0, fault)
	}
	digits, ok := strings.CutPrefix(s, p.text)
	if !ok {
		got := "none"
		if i := strings.LastIndexByte(s, '_'); i >= 0 {
			got = fmt.Sprintf("%q", shorten(s[:i+1]))
		}
		return 0, p.syntaxError(s, 0, fmt.Sprintf("the prefix is wrong: expected %q, got %s", p.text, got))
	}
	id, err := p.enc.Parse(digits)
	var syntax *snowfence.SyntaxError
	if errors.As(err, &syntax) {
		return 0, p.syntaxError(s, len(p.text)+syntax.Offset, syntax.Reason)
	}
	if p.hasMask {
		id = p.mask.Private(id)
	}
	return id, nil
}

func (p Prefix) syntaxError(s string, offset int, reason string) error {
	return &snowfence.SyntaxError{Encoding: p.enc.Name(), Input: shorten(s), Offset: offset, Reason: reason}
}

// shorten cuts a text at the length that a person reads.
func shorten(s string) string {
	if len(s) > 48 {
		return s[:45] + "..."
	}
	return s
}
