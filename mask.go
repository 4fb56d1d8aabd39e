package snowfence

import (
	"database/sql/driver"
	"fmt"
	"log/slog"

	"github.com/snowfence/snowfence/internal/sparx"
)

// Mask makes public IDs of private ones and back, with SPARX-64/128: a
// permutation of all 64-bit numbers. Inside, IDs stay plain and sorted by time;
// outside, they tell nothing and cannot be guessed. Another secret changes every
// public ID and no private one. Safe for concurrent use, except Wipe.
type Mask struct{ c *sparx.Cipher }

// NewMask returns the mask of a secret, which must not be that of an encrypted
// layout.
func NewMask(k *Secret) (*Mask, error) {
	if k.empty() {
		return nil, fmt.Errorf("snowfence: %w: the mask needs a secret, and this one is empty", ErrKey)
	}
	c, err := sparx.New(k.secret[:])
	if err != nil {
		return nil, fmt.Errorf("snowfence: %w", err)
	}
	return &Mask{c}, nil
}

// Public returns the public form. Half of all public IDs are negative: show them
// as [Base32Hex] or another unsigned form.
func (m *Mask) Public(id ID) ID { return ID(m.c.Encrypt64(uint64(id))) }

// Private returns the private ID of a public one. Every number has one; only a
// look-up or [Scheme.Check] knows whether it exists.
func (m *Mask) Private(public ID) ID { return ID(m.c.Decrypt64(uint64(public))) }

// Wipe overwrites the secret. It must be the last use.
func (m *Mask) Wipe() { m.c.Wipe() }

// Masker names the mask of a [Masked] type, by its zero value.
//
//	type orders struct{}
//
//	func (orders) Mask() *snowfence.Mask { return orderMask }
//
//	type OrderID = snowfence.Masked[orders]
type Masker interface{ Mask() *Mask }

// Masked is an ID that no handler can forget to mask: it prints, marshals and
// reads the public form, as base32hex. Scan and Value keep the private one.
type Masked[M Masker] ID

func (Masked[M]) mask() *Mask {
	var m M
	return m.Mask()
}

// String returns the public form.
func (id Masked[M]) String() string { return Base32Hex.Encode(id.mask().Public(ID(id))) }

// Format implements [fmt.Formatter]: v, s and q write the text of the public ID,
// and the verbs of numbers its number. Only %p, which go vet refuses, asks nobody.
func (id Masked[M]) Format(f fmt.State, verb rune) {
	public := id.mask().Public(ID(id))
	formatText(f, verb, Base32Hex.Encode(public), public)
}

// AppendText appends the public form.
func (id Masked[M]) AppendText(b []byte) ([]byte, error) {
	return Base32Hex.Append(b, id.mask().Public(ID(id))), nil
}

// MarshalText returns the public form, so JSON is a string.
func (id Masked[M]) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText reads the public form. The error matches [ErrInvalidID].
func (id *Masked[M]) UnmarshalText(text []byte) error {
	public, err := Base32Hex.ParseBytes(text)
	if err == nil {
		*id = Masked[M](id.mask().Private(public))
	}
	return err
}

// Value returns the private ID for a database.
func (id Masked[M]) Value() (driver.Value, error) { return ID(id).Value() }

// Scan reads the private ID from a database.
func (id *Masked[M]) Scan(src any) error { return (*ID)(id).Scan(src) }

// LogValue returns the public form: logs leave the house too.
func (id Masked[M]) LogValue() slog.Value { return slog.StringValue(id.String()) }
