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

// ErrKey means that a secret has the wrong form, or that a scheme has too few or too many
// keys, or the wrong one.
var ErrKey = errors.New("wrong key")

// secretSize is the length of a secret in bytes.
const secretSize = 16

const redacted = "[secret key]"

// Secret is the key for encrypted IDs. It shows itself nowhere: not in logs, errors, fmt,
// JSON or text. What tells keys apart in public is [Secret.ID]. Safe for concurrent use,
// except Wipe.
type Secret struct {
	secret *[secretSize]byte // behind a pointer, because fmt prints what it cannot call a method on
}

// NewSecret returns the key of a secret of 16 bytes, of which it keeps a copy.
func NewSecret(secret []byte) (*Secret, error) {
	if len(secret) != secretSize {
		return nil, fmt.Errorf("%w: the secret has %d bytes, not %d", ErrKey, len(secret), secretSize)
	}
	k := &Secret{new([secretSize]byte)}
	copy(k.secret[:], secret)
	return k, nil
}

// GenerateSecret returns a new random key.
func GenerateSecret() *Secret {
	k := &Secret{new([secretSize]byte)}
	rand.Read(k.secret[:]) // never fails: crypto/rand ends the program instead
	return k
}

// ParseSecret reads the content of a secret file: 32 hexadecimal digits, with white space
// around them, or 16 bytes as they are.
func ParseSecret(data []byte) (*Secret, error) {
	text := bytes.TrimSpace(data)
	if len(text) == 2*secretSize {
		secret := make([]byte, secretSize)
		if _, err := hex.Decode(secret, text); err != nil {
			return nil, fmt.Errorf("%w: the secret has a character that is not a hexadecimal digit", ErrKey)
		}
		defer clear(secret)
		return NewSecret(secret)
	}
	if len(data) == secretSize {
		return NewSecret(data)
	}
	return nil, fmt.Errorf("%w: the secret has %d bytes; it is 32 hexadecimal digits or 16 bytes", ErrKey, len(data))
}

// AppendSecret appends the secret as 32 hexadecimal digits, for the one purpose of
// writing a secret file.
func (k *Secret) AppendSecret(dst []byte) []byte { return hex.AppendEncode(dst, k.secret[:]) }

// ID returns 8 hexadecimal digits that name the key and say nothing about it: the start
// of a hash. It is what stores keep, to notice another key.
func (k *Secret) ID() string {
	h := sha256.New()
	io.WriteString(h, "snowfence key id\x00")
	h.Write(k.secret[:])
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// Wipe overwrites the secret. Schemes made from it keep working until they are wiped themselves.
func (k *Secret) Wipe() { clear(k.secret[:]) }

// Format implements [fmt.Formatter]: no verb prints the secret.
func (k Secret) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// String implements [fmt.Stringer].
func (k Secret) String() string { return redacted }

// MarshalText implements [encoding.TextMarshaler], and so redacts the key in JSON, YAML
// and XML too.
func (k Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements [slog.LogValuer].
func (k Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
