package snowflake

import (
	"database/sql/driver"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/snowfence/snowfence"
)

// ID is a snowflake ID. JSON is a string of its decimal digits; SQL is a
// BIGINT.
type ID int64

var (
	// ErrInvalidBase58 is returned by ParseBase58 for text that is not an
	// ID.
	ErrInvalidBase58 = errors.New("invalid base58")

	// ErrInvalidBase32 is returned by ParseBase32 for text that is not an
	// ID.
	ErrInvalidBase32 = errors.New("invalid base32")
)

// A JSONSyntaxError is returned from UnmarshalJSON for anything but a
// string.
type JSONSyntaxError struct{ original []byte }

func (e JSONSyntaxError) Error() string {
	return fmt.Sprintf("invalid snowflake ID %q", string(e.original))
}

// Int64 returns the ID as a number.
func (f ID) Int64() int64 { return int64(f) }

// ParseInt64 is the opposite of Int64.
func ParseInt64(id int64) ID { return ID(id) }

// String returns the decimal digits.
func (f ID) String() string { return strconv.FormatInt(int64(f), 10) }

// ParseString is the opposite of String.
func ParseString(id string) (ID, error) { return parseInt(id, 10) }

// Base2 returns the binary digits.
func (f ID) Base2() string { return strconv.FormatInt(int64(f), 2) }

// ParseBase2 is the opposite of Base2.
func ParseBase2(id string) (ID, error) { return parseInt(id, 2) }

// Base32 returns the ID as a number with the digits of z-base-32.
func (f ID) Base32() string { return snowfence.ZBase32.Encode(snowfence.ID(f)) }

// ParseBase32 is the opposite of Base32. It returns −1 and
// [ErrInvalidBase32] for other text, upper case included.
func ParseBase32(b []byte) (ID, error) {
	for _, c := range b {
		if 'A' <= c && c <= 'Z' {
			return -1, ErrInvalidBase32
		}
	}
	id, err := snowfence.ZBase32.ParseBytes(b)
	if err != nil {
		return -1, ErrInvalidBase32
	}
	return ID(id), nil
}

// Base36 returns the ID in base 36, in lower case.
func (f ID) Base36() string { return strconv.FormatInt(int64(f), 36) }

// ParseBase36 is the opposite of Base36.
func ParseBase36(id string) (ID, error) { return parseInt(id, 36) }

// Base58 returns the ID in base 58, with Flickr's digits.
func (f ID) Base58() string { return snowfence.Base58Flickr.Encode(snowfence.ID(f)) }

// ParseBase58 is the opposite of Base58. It returns −1 and
// [ErrInvalidBase58] for other text.
func ParseBase58(b []byte) (ID, error) {
	id, err := snowfence.Base58Flickr.ParseBytes(b)
	if err != nil {
		return -1, ErrInvalidBase58
	}
	return ID(id), nil
}

// Base64 returns the decimal digits in base 64.
func (f ID) Base64() string { return base64.StdEncoding.EncodeToString(f.Bytes()) }

// ParseBase64 is the opposite of Base64.
func ParseBase64(id string) (ID, error) {
	b, err := base64.StdEncoding.DecodeString(id)
	if err != nil {
		return -1, err
	}
	return ParseBytes(b)
}

// Bytes returns the decimal digits.
func (f ID) Bytes() []byte { return []byte(f.String()) }

// ParseBytes is the opposite of Bytes.
func ParseBytes(id []byte) (ID, error) { return parseInt(string(id), 10) }

// parseInt returns the nearest ID with an error of range, as there.
func parseInt(text string, base int) (ID, error) {
	i, err := strconv.ParseInt(text, base, 64)
	return ID(i), err
}

// IntBytes returns 8 bytes, big endian.
func (f ID) IntBytes() [8]byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(f))
	return b
}

// ParseIntBytes is the opposite of IntBytes.
func ParseIntBytes(id [8]byte) ID { return ID(binary.BigEndian.Uint64(id[:])) }

// Time returns the Unix time of the ID in milliseconds, with the present
// Epoch and the widths of the latest NewNode. For other settings ask a
// [snowfence.Scheme].
func (f ID) Time() int64 {
	node, step := widths()
	return int64(f)>>(node+step) + Epoch
}

// Node returns the node number, with the widths of the latest NewNode.
func (f ID) Node() int64 {
	node, step := widths()
	return int64(f) >> step & (1<<node - 1)
}

// Step returns the number within the millisecond, with the widths of the
// latest NewNode.
func (f ID) Step() int64 {
	_, step := widths()
	return int64(f) & (1<<step - 1)
}

func widths() (node, step uint8) {
	if s := latest.Load(); s != nil {
		return s.nodeBits, s.stepBits
	}
	return 10, 12
}

// MarshalJSON returns the decimal digits as a JSON string.
func (f ID) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 22)
	b = append(b, '"')
	b = strconv.AppendInt(b, int64(f), 10)
	return append(b, '"'), nil
}

// UnmarshalJSON reads a JSON string of decimal digits, and no number.
func (f *ID) UnmarshalJSON(b []byte) error {
	if len(b) < 3 || b[0] != '"' || b[len(b)-1] != '"' {
		return JSONSyntaxError{b}
	}
	id, err := ParseBytes(b[1 : len(b)-1])
	if err != nil {
		return err
	}
	*f = id
	return nil
}

// Value implements [driver.Valuer]: an ID is an int64 to a database.
func (f ID) Value() (driver.Value, error) { return int64(f), nil }

// Scan implements sql.Scanner for integers and decimal text, as
// [snowfence.ID.Scan] does.
func (f *ID) Scan(src any) error { return (*snowfence.ID)(f).Scan(src) }
