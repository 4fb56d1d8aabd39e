package snowfence

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"strconv"
)

// ID is a unique 64-bit number. A [Layout] says what its bits mean;
// Twitter's layout is:
//
//	63  62                                       22 21         12 11          0
//	+---+-------------------------------------------+-------------+------------+
//	| 0 | 41 bits: milliseconds since the epoch     | 10 bits:    | 12 bits:   |
//	|   |                                           | node        | sequence   |
//	+---+-------------------------------------------+-------------+------------+
//
// With the time in the highest bits, IDs sort by time. Encrypted IDs, and
// IDs of layouts without a sign bit, can be negative. You can convert from
// and to int64 and uint64: the bits stay the same.
//
// JSON and text are a decimal string, because JavaScript rounds numbers
// beyond 2^53. For other forms see [Encoding] and package public. Binary is
// the decimal text; 8 bytes, big endian, are read, too. SQL is a BIGINT.
type ID int64

// String returns the signed decimal number, as [Decimal] writes it.
func (id ID) String() string { return Encoding{formDecimal}.Encode(id) }

// Format implements [fmt.Formatter]; without it, %x would write the
// characters of String in hex. The verbs x, X, o, O and b write the
// unsigned number; d, v and s write the signed decimal.
func (id ID) Format(f fmt.State, verb rune) {
	var value any = int64(id)
	switch verb {
	case 's', 'q':
		value = id.String()
	case 'x', 'X', 'o', 'O', 'b':
		value = uint64(id)
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), value)
}

// AppendText appends the decimal text to b. The error is always nil.
func (id ID) AppendText(b []byte) ([]byte, error) { return appendDecimal(b, int64(id)), nil }

// MarshalText returns the decimal text. The error is always nil.
func (id ID) MarshalText() ([]byte, error) { return id.AppendText(make([]byte, 0, maxLen)) }

// UnmarshalText reads decimal text, as [Decimal] does.
func (id *ID) UnmarshalText(text []byte) error { return unmarshal(id, text) }

func unmarshal[T string | []byte](id *ID, text T) error {
	v, err := parse(Encoding{formDecimal}, text)
	if err != nil {
		return err
	}
	*id = v
	return nil
}

// MarshalJSON returns the decimal text as a JSON string. The error is
// always nil.
func (id ID) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, maxLen+2), '"')
	b = appendDecimal(b, int64(id))
	return append(b, '"'), nil
}

// UnmarshalJSON reads a decimal integer from a JSON string or number,
// without fraction, exponent or escapes. null leaves the ID unchanged.
func (id *ID) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if n := len(data); n >= 2 && data[0] == '"' && data[n-1] == '"' {
		data = data[1 : n-1]
	}
	return unmarshal(id, data)
}

// MarshalBinary returns the decimal text, because Redis clients write it,
// and all others read that. The error is always nil.
func (id ID) MarshalBinary() ([]byte, error) { return id.MarshalText() }

// UnmarshalBinary reads decimal text, and 8 bytes, big endian, that are no
// decimal text.
func (id *ID) UnmarshalBinary(data []byte) error {
	err := unmarshal(id, data)
	if err != nil && len(data) == 8 {
		*id, err = ID(binary.BigEndian.Uint64(data)), nil
	}
	return err
}

// Value implements [driver.Valuer]: an ID is an int64 to a database.
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

// Scan implements sql.Scanner for integers, decimal text, and IDs, which
// ent passes to it. It refuses floating-point numbers, which may be
// rounded, and unsigned numbers beyond 2^63-1, which Value cannot write. It
// refuses NULL: use sql.Null[ID].
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case int64:
		*id = ID(v)
		return nil
	case []byte:
		return unmarshal(id, v)
	case string:
		return unmarshal(id, v)
	case uint64: // unsigned columns of MySQL
		return unmarshal(id, strconv.FormatUint(v, 10))
	case nil:
		return fmt.Errorf("%w: NULL; scan a column that allows it into a sql.Null[snowfence.ID]", ErrInvalidID)
	}
	if v := reflect.Indirect(reflect.ValueOf(src)); v.IsValid() && v.Kind() == reflect.Int64 {
		*id = ID(v.Int())
		return nil
	}
	return fmt.Errorf("%w: a database value of type %T; want an integer or its decimal text", ErrInvalidID, src)
}

// MarshalGQL writes the decimal text as a GraphQL string, so that gqlgen
// accepts ID as a scalar.
func (id ID) MarshalGQL(w io.Writer) {
	_, _ = io.WriteString(w, `"`+id.String()+`"`) // errors are left to the writer, as gqlgen does
}

// UnmarshalGQL reads a decimal integer from a string or an integer.
func (id *ID) UnmarshalGQL(v any) error {
	switch v := v.(type) {
	case string:
		return unmarshal(id, v)
	case int:
		*id = ID(v)
	case int64:
		*id = ID(v)
	case fmt.Stringer: // json.Number, which variables have
		return unmarshal(id, v.String())
	default:
		return fmt.Errorf("%w: a GraphQL value of type %T; want a string or an integer", ErrInvalidID, v)
	}
	return nil
}
