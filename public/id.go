package public

import (
	"database/sql/driver"
	"fmt"
	"io"

	"github.com/snowfence/snowfence"
)

// Kind is a kind of thing with IDs, usually an empty struct. Prefix must
// always return the same value for the zero value.
type Kind interface{ Prefix() Prefix }

// ID is an ID of one kind of thing. Text and JSON have the prefix of the
// kind, and the compiler keeps kinds apart, so no code passes the ID of a
// user as the ID of an order:
//
//	type order struct{}
//
//	func (order) Prefix() public.Prefix { return orderPrefix }
//
//	var orderPrefix = public.MustPrefix("ord", snowfence.Base32Hex)
//
//	type OrderID = public.ID[order]
//
// Convert as between integers: OrderID(id), snowfence.ID(orderID).
// Databases get the plain integer. With a prefix that has a mask
// (Prefix.Masked), text, JSON, logs and fmt show public IDs only, except in
// an unexported field of a struct that fmt prints: it cannot call methods
// there.
type ID[K Kind] snowfence.ID

func prefixOf[K Kind]() Prefix {
	var kind K
	return kind.Prefix()
}

// String returns the text of the ID with its prefix.
func (t ID[K]) String() string { return prefixOf[K]().Encode(snowfence.ID(t)) }

// Format implements [fmt.Formatter]: v, s and q write the text, x, X, o, O
// and b the unsigned number, and d the signed one, as [snowfence.ID.Format]
// does. With a mask these are the numbers of the public ID.
func (t ID[K]) Format(f fmt.State, verb rune) {
	p := prefixOf[K]()
	if p.fault() != "" {
		fmt.Fprint(f, p.Encode(0)) // the reason
		return
	}
	switch verb {
	case 'v', 's', 'q':
		fmt.Fprintf(f, fmt.FormatString(f, verb), p.Encode(snowfence.ID(t)))
	default:
		p.shown(snowfence.ID(t)).Format(f, verb)
	}
}

// AppendText appends the text with its prefix to b. The error matches
// [snowfence.ErrKey] and means that the prefix is not usable.
func (t ID[K]) AppendText(b []byte) ([]byte, error) {
	p := prefixOf[K]()
	if err := p.err(); err != nil {
		return b, err
	}
	return p.Append(b, snowfence.ID(t)), nil
}

// MarshalText returns the text with its prefix, so JSON is a string.
func (t ID[K]) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// MarshalJSON returns the text as a JSON string.
func (t ID[K]) MarshalJSON() ([]byte, error) {
	b, err := t.AppendText([]byte{'"'})
	if err != nil {
		return nil, err
	}
	return append(b, '"'), nil
}

// UnmarshalJSON reads the text from a JSON string. null leaves the ID
// unchanged.
func (t *ID[K]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if n := len(data); n >= 2 && data[0] == '"' && data[n-1] == '"' {
		data = data[1 : n-1] // the tag ",string" has removed them
	}
	return t.UnmarshalText(data)
}

// UnmarshalText reads text with the prefix of K, and no other.
func (t *ID[K]) UnmarshalText(text []byte) error {
	id, err := prefixOf[K]().Parse(string(text))
	if err != nil {
		return err
	}
	*t = ID[K](id)
	return nil
}

// Value is [snowfence.ID.Value].
func (t ID[K]) Value() (driver.Value, error) { return snowfence.ID(t).Value() }

// Scan is [snowfence.ID.Scan].
func (t *ID[K]) Scan(src any) error { return (*snowfence.ID)(t).Scan(src) }

// MarshalBinary is [snowfence.ID.MarshalBinary]: Redis gets the plain
// number, as databases do.
func (t ID[K]) MarshalBinary() ([]byte, error) { return snowfence.ID(t).MarshalBinary() }

// UnmarshalBinary is [snowfence.ID.UnmarshalBinary].
func (t *ID[K]) UnmarshalBinary(data []byte) error { return (*snowfence.ID)(t).UnmarshalBinary(data) }

// ScanRedis reads what MarshalBinary wrote. go-redis calls it for a field
// of a hash, in place of UnmarshalText.
func (t *ID[K]) ScanRedis(text string) error { return t.UnmarshalBinary([]byte(text)) }

// MarshalGQL writes the text with its prefix as a GraphQL string.
func (t ID[K]) MarshalGQL(w io.Writer) {
	_, _ = io.WriteString(w, `"`+t.String()+`"`) // no text of an ID needs escapes
}

// UnmarshalGQL reads a string with the prefix of K, and no other.
func (t *ID[K]) UnmarshalGQL(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("%w: a GraphQL value of type %T; want a string", snowfence.ErrInvalidID, v)
	}
	return t.UnmarshalText([]byte(text))
}
