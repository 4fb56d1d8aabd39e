package snowfence

import (
	"fmt"

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
