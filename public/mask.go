package public

import (
	"encoding/hex"
	"fmt"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/sparx"
)

// Mask turns private IDs into public ones and back, with SPARX-64/128: a
// permutation of all 64-bit numbers. Private IDs stay plain and sorted by
// time. Public IDs tell nothing, and people cannot guess them. Another
// secret changes every public ID and no private one. A Mask is safe for
// concurrent use.
type Mask struct{ c *sparx.Cipher }

// NewMask returns the mask of a secret, which must not be the secret of an
// encrypted layout.
func NewMask(k *snowfence.Secret) (*Mask, error) {
	secret, err := hex.DecodeString(string(k.AppendSecret(nil)))
	if err != nil || len(secret) == 0 {
		return nil, fmt.Errorf("snowfence: %w: the mask needs a secret, and this one is empty", snowfence.ErrKey)
	}
	c, err := sparx.New(secret)
	if err != nil {
		return nil, fmt.Errorf("snowfence: %w", err)
	}
	return &Mask{c}, nil
}

// Public returns the public form. Half of all public IDs are negative: show
// them as [snowfence.Base32Hex] or another unsigned form.
func (m *Mask) Public(id snowfence.ID) snowfence.ID { return snowfence.ID(m.c.Encrypt64(uint64(id))) }

// Private returns the private ID of a public one. Every number has one; use
// a look-up or [snowfence.Scheme.Check] to find out whether it exists.
func (m *Mask) Private(public snowfence.ID) snowfence.ID {
	return snowfence.ID(m.c.Decrypt64(uint64(public)))
}
