package snowfence

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// ErrKey means that a secret has the wrong form, or that a scheme has too few or too many keys, or the wrong one.
var ErrKey = errors.New("wrong key")

// KeySize is the length of a secret in bytes.
const KeySize = 16

const redacted = "[secret key]"

// Key is a secret for encrypted IDs. It shows itself nowhere: not in logs, errors, fmt, JSON or text. What tells keys apart in public
// is [Key.ID]. Safe for concurrent use, except Wipe.
type Key struct {
	secret *[KeySize]byte // behind a pointer, since fmt prints what it cannot call a method on
}

// NewKey returns the key of a secret of 16 bytes, of which it keeps a copy.
func NewKey(secret []byte) (*Key, error) {
	if len(secret) != KeySize {
		return nil, fmt.Errorf("%w: the secret has %d bytes, not %d", ErrKey, len(secret), KeySize)
	}
	k := &Key{new([KeySize]byte)}
	copy(k.secret[:], secret)
	return k, nil
}

// GenerateKey returns a new random key.
func GenerateKey() *Key {
	k := &Key{new([KeySize]byte)}
	rand.Read(k.secret[:]) // never fails: crypto/rand ends the program instead
	return k
}

// ParseKey reads the content of a secret file: 32 hexadecimal digits, with white space around them, or 16 bytes as they are.
func ParseKey(data []byte) (*Key, error) {
	text := bytes.TrimSpace(data)
	if len(text) == 2*KeySize {
		secret := make([]byte, KeySize)
		if _, err := hex.Decode(secret, text); err != nil {
			return nil, fmt.Errorf("%w: the secret has a character that is not a hexadecimal digit", ErrKey)
		}
		defer clear(secret)
		return NewKey(secret)
	}
	if len(data) == KeySize {
		return NewKey(data)
	}
	return nil, fmt.Errorf("%w: the secret has %d bytes; it is 32 hexadecimal digits or 16 bytes", ErrKey, len(data))
}

// AppendSecret appends the secret as 32 hexadecimal digits, for the one purpose of writing a secret file.
func (k *Key) AppendSecret(dst []byte) []byte { return hex.AppendEncode(dst, k.secret[:]) }

// ID returns 8 hexadecimal digits that name the key and say nothing about it: the start of a hash. It is what stores keep, to notice another key.
func (k *Key) ID() string {
	h := sha256.New()
	io.WriteString(h, "snowfence key id\x00")
	h.Write(k.secret[:])
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// Wipe overwrites the secret. Schemes made from it keep working until they are wiped themselves.
func (k *Key) Wipe() { clear(k.secret[:]) }

// Format implements [fmt.Formatter]: no verb prints the secret.
func (k Key) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// String implements [fmt.Stringer].
func (k Key) String() string { return redacted }

// MarshalText implements [encoding.TextMarshaler], and so redacts the key in JSON, YAML and XML too.
func (k Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements [slog.LogValuer].
func (k Key) LogValue() slog.Value { return slog.StringValue(redacted) }
