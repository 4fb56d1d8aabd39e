package kinds

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// alphabet32 is that of TypeIDs: Crockford's base 32 in lower case.
const alphabet32 = "0123456789abcdefghjkmnpqrstvwxyz"

// len32 is the length of 128 bits in base 32. The first digit has three of them.
const len32 = 26

// encode32 writes the 128 bits as a number.
func encode32(u uuid.UUID) string {
	var out [len32]byte
	v := wide(u[:])
	for i := len32 - 1; i >= 0; i-- {
		out[i] = alphabet32[v[2]&31]
		v[2] = v[2]>>5 | v[1]<<59
		v[1] >>= 5
	}
	return string(out[:])
}

// decode32 is the inverse of encode32.
func decode32(text string) (u uuid.UUID, err error) {
	if len(text) != len32 {
		return u, fmt.Errorf("it has %d characters after the prefix, not %d", len(text), len32)
	}
	if text[0] > '7' {
		return u, errors.New("it has more than 128 bits")
	}
	n, bits, at := uint16(0), 0, 0
	for i := range len(text) {
		d := strings.IndexByte(alphabet32, text[i])
		if d < 0 {
			return u, fmt.Errorf("%q is not one of its digits, which are %s", text[i], alphabet32)
		}
		n, bits = n<<5|uint16(d), bits+5
		if i == 0 {
			bits = 3
		}
		if bits >= 8 {
			bits -= 8
			u[at] = byte(n >> bits)
			at++
		}
	}
	return u, nil
}

// checkPrefix is the rule of the TypeID specification 0.3.
func checkPrefix(p string) error {
	switch {
	case len(p) > 63:
		return errors.New("has more than 63 characters")
	case strings.Trim(p, "abcdefghijklmnopqrstuvwxyz_") != "":
		return errors.New("has characters other than a-z and _")
	case strings.HasPrefix(p, "_") || strings.HasSuffix(p, "_"):
		return errors.New("begins or ends with _")
	}
	return nil
}

// readTypeID reads a prefix with _ after it, or none, and 26 digits.
func (k Kind) readTypeID(text string) (v id, err error) {
	at := strings.LastIndexByte(text, '_') + 1
	switch {
	case at == 1:
		err = errors.New("it begins with _: without a prefix there is none")
	case at > 1:
		if prefixErr := checkPrefix(text[:at-1]); prefixErr != nil {
			err = fmt.Errorf("its prefix %w", prefixErr)
		}
	}
	if err == nil && !k.any && text[:at] != k.prefix {
		err = fmt.Errorf("its prefix is %q, not %q", shorten(strings.TrimSuffix(text[:at], "_")),
			strings.TrimSuffix(k.prefix, "_"))
	}
	if err == nil {
		v.uuid, err = decode32(text[at:])
	}
	if err != nil {
		return id{}, fmt.Errorf("%q is no TypeID: %w", shorten(text), err)
	}
	v.kind, v.value, v.text = typeID, wide(v.uuid[:]), text
	return v, nil
}
