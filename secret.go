package snowfence

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// ErrKey means that a secret has the wrong form, or that a scheme has wrong secrets, or too few or
// too many of them.
var ErrKey = errors.New("wrong secret")

// secretSize is the length of a secret in bytes.
const secretSize = 16

const redacted = "[secret]"

// Secret encrypts IDs. Logs, errors, fmt, JSON and text never show it. [Secret.ID] tells secrets
// apart. A Secret is safe for concurrent use. The zero value holds no secret, and every function
// refuses it.
type Secret struct {
	secret *[secretSize]byte // behind a pointer, because fmt prints what it cannot call a method on
}

// empty reports whether there is no secret: nil, or the zero value.
func (k *Secret) empty() bool { return k == nil || k.secret == nil }

// NewSecret returns a secret of 16 bytes, which it copies.
func NewSecret(secret []byte) (*Secret, error) {
	if len(secret) != secretSize {
		return nil, fmt.Errorf("%w: the secret has %d bytes, not %d", ErrKey, len(secret), secretSize)
	}
	k := &Secret{new([secretSize]byte)}
	copy(k.secret[:], secret)
	return k, nil
}

// GenerateSecret returns a new random secret.
func GenerateSecret() *Secret {
	k := &Secret{new([secretSize]byte)}
	rand.Read(k.secret[:]) // never fails: crypto/rand ends the program instead
	return k
}

// ParseSecret reads a secret file: 32 hexadecimal digits, with white space around
// them, or 16 bytes that are not all hexadecimal digits.
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
	if _, err := hex.DecodeString(string(text)); err == nil && len(text) == secretSize {
		return nil, fmt.Errorf("%w: the secret has %d hexadecimal digits, half of a secret", ErrKey, secretSize)
	}
	if len(data) == secretSize {
		return NewSecret(data)
	}
	return nil, fmt.Errorf("%w: the secret has %d bytes; it is 32 hexadecimal digits or 16 bytes", ErrKey, len(data))
}

// AppendSecret appends the secret as 32 hexadecimal digits, to write a secret
// file. The zero value appends nothing.
func (k *Secret) AppendSecret(dst []byte) []byte {
	if k.empty() {
		return dst
	}
	return hex.AppendEncode(dst, k.secret[:])
}

// ID returns 8 hexadecimal digits that name the secret and do not reveal it: the start of a hash.
// Stores keep it, to notice another secret. It is "" for the zero value.
func (k *Secret) ID() string {
	if k.empty() {
		return ""
	}
	h := sha256.New()
	io.WriteString(h, "snowfence key id\x00")
	h.Write(k.secret[:])
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// Format implements [fmt.Formatter]: no verb prints the secret.
func (k Secret) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// MarshalText implements [encoding.TextMarshaler]: JSON, YAML and XML do not show the secret.
func (k Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
