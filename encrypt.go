package snowfence

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"github.com/snowfence/snowfence/internal/ff1"
	"github.com/snowfence/snowfence/internal/sparx"
)

// permutation is a cipher over raw IDs: sparxAll over 64 bits, ff1Part over
// fewer. dst and src may be the same.
type permutation interface {
	encrypt(raw uint64) uint64
	decrypt(id uint64) uint64
	encryptRun(dst []uint64, start, step uint64) // start, start + step, …
}

type sparxAll struct{ c *sparx.Cipher }

func (p sparxAll) encrypt(raw uint64) uint64 { return p.c.Encrypt64(raw) }
func (p sparxAll) decrypt(id uint64) uint64  { return p.c.Decrypt64(id) }
func (p sparxAll) encryptRun(dst []uint64, start, step uint64) {
	p.c.EncryptCounter(dst, start, step)
}

// ff1Part permutes the bits below the key field and leaves that alone.
type ff1Part struct {
	c    *ff1.Cipher
	mask uint64
}

func (p ff1Part) encrypt(raw uint64) uint64 { return p.c.Encrypt(raw) }
func (p ff1Part) decrypt(id uint64) uint64  { return p.c.Decrypt(id) }
func (p ff1Part) encryptRun(dst []uint64, start, step uint64) {
	for i := range dst {
		dst[i] = start&^p.mask | (start+uint64(i)*step)&p.mask
	}
	p.c.EncryptAll(dst)
}

func newPermutations(l Layout, keys []*Secret) ([]permutation, error) {
	keyBits := l.Bits(FieldKey)
	switch {
	case l.Cipher == Plain && len(keys) > 0:
		return nil, fmt.Errorf("snowfence: %w: the layout %s is not encrypted: "+
			"add cipher=sparx or cipher=ff1, or leave the secret out", ErrKey, l)
	case l.Cipher == Plain:
		return nil, nil
	case len(keys) == 0:
		return nil, fmt.Errorf("snowfence: %w: the layout %s is encrypted and needs a secret", ErrKey, l)
	case len(keys) > 1<<keyBits:
		return nil, fmt.Errorf("snowfence: %w: %d secrets; the layout %s has room for %d: "+
			"one with a key field has room for several", ErrKey, len(keys), l, 1<<keyBits)
	case keys[len(keys)-1] == nil:
		return nil, fmt.Errorf("snowfence: %w: the last secret, which makes new IDs, is nil", ErrKey)
	}
	perms := make([]permutation, len(keys))
	for i, k := range keys {
		switch {
		case k == nil:
			continue // an old secret that is gone: its IDs can no longer be decoded
		case k.empty():
			return nil, fmt.Errorf("snowfence: %w: the secret with the number %d is empty: make it with NewSecret, "+
				"ParseSecret or GenerateSecret, or give nil for an old one that is gone", ErrKey, i)
		}
		if l.Cipher == SPARX {
			c, err := sparx.New(k.secret[:])
			if err != nil {
				return nil, fmt.Errorf("snowfence: %w", err)
			}
			perms[i] = sparxAll{c}
			continue
		}
		width := l.Width() - keyBits
		// The tweak ties a secret to its key number: one secret under two
		// numbers is two permutations.
		c, err := ff1.New(k.secret[:], width, fmt.Appendf(nil, "snowfence id %d", i))
		if err != nil {
			return nil, fmt.Errorf("snowfence: %w", err)
		}
		perms[i] = ff1Part{c, 1<<width - 1}
	}
	return perms, nil
}

// Encrypted reports whether the scheme's IDs are encrypted.
func (s *Scheme) Encrypted() bool { return s.current != nil }

// encryptID encrypts a raw ID with the current secret.
func (s *Scheme) encryptID(raw ID) ID {
	if s.current == nil {
		return raw
	}
	return ID(s.current.encrypt(uint64(raw)))
}

// decryptID returns the raw ID, and the permutation of the secret that the
// ID names; nil for a plain ID.
func (s *Scheme) decryptID(id ID) (raw ID, p permutation, err error) {
	raw = id
	if s.layout.Cipher != Plain && (s.layout.Cipher == SPARX || uint64(id)>>s.width == 0) {
		n := 0
		if s.keyBits > 0 {
			n = int(uint64(id) >> s.keyShift)
		}
		if n >= len(s.perms) || s.perms[n] == nil {
			return 0, nil, fmt.Errorf("%w: this scheme has no secret for its key number %d: %w",
				ErrInvalidID, n, ErrKey)
		}
		p = s.perms[n]
		raw = ID(p.decrypt(uint64(id)))
	}
	if uint64(raw)>>s.width != 0 {
		return 0, nil, fmt.Errorf("%w: %d has bits above the %d of the layout %s",
			ErrInvalidID, int64(id), s.width, s.layout)
	}
	return raw, p, nil
}

// words views IDs as numbers for the ciphers; both types have the same
// memory.
func words(ids []ID) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(ids))), len(ids))
}

// ErrKey means that a secret has the wrong form, or that a scheme has wrong
// secrets, or too few or too many of them.
var ErrKey = errors.New("wrong secret")

// secretSize is the length of a secret in bytes.
const secretSize = 16

const redacted = "[secret]"

// Secret encrypts IDs. Logs, errors, fmt, JSON and text never show it.
// [Secret.ID] tells secrets apart. A Secret is safe for concurrent use. The
// zero value holds no secret, and every function refuses it.
type Secret struct {
	secret *[secretSize]byte // behind a pointer, because fmt prints what it cannot call a method on
}

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

// ParseSecret reads a secret file: 32 hexadecimal digits, with white space
// around them, or 16 bytes that are not all hexadecimal digits.
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

// empty reports whether there is no secret: nil, or the zero value.
func (k *Secret) empty() bool { return k == nil || k.secret == nil }

// AppendSecret appends the secret as 32 hexadecimal digits, to write a
// secret file. The zero value appends nothing.
func (k *Secret) AppendSecret(dst []byte) []byte {
	if k.empty() {
		return dst
	}
	return hex.AppendEncode(dst, k.secret[:])
}

// ID returns 8 hexadecimal digits that name the secret and do not reveal
// it: the start of a hash. Stores keep it, to notice another secret. It is
// "" for the zero value.
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

// MarshalText implements [encoding.TextMarshaler]: JSON, YAML and XML do
// not show the secret.
func (k Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
