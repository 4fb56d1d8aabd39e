package snowfence

import (
	"fmt"
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

// Every value under the mask is in range, so there is no error.
func (p ff1Part) encrypt(raw uint64) uint64 {
	x, _ := p.c.Encrypt(raw & p.mask)
	return raw&^p.mask | x
}

func (p ff1Part) decrypt(id uint64) uint64 {
	x, _ := p.c.Decrypt(id & p.mask)
	return id&^p.mask | x
}

func (p ff1Part) encryptRun(dst []uint64, start, step uint64) {
	for i := range dst {
		dst[i] = (start + uint64(i)*step) & p.mask
	}
	_ = p.c.EncryptAll(dst, dst) // nothing is out of range under the mask
	for i := range dst {
		dst[i] |= start &^ p.mask
	}
}

// newPermutations returns a permutation for each secret.
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
		// The tweak ties a secret to its key number: one secret under two numbers is two
		// permutations.
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

// seal encrypts a raw ID with the current secret.
func (s *Scheme) seal(raw ID) ID {
	if s.current == nil {
		return raw
	}
	return ID(s.current.encrypt(uint64(raw)))
}

// open is the inverse of seal, with the secret that the ID names.
func (s *Scheme) open(id ID) (ID, error) {
	if s.current == nil {
		return id, nil
	}
	n := 0
	if s.layout.Cipher == FF1 {
		if w := s.layout.Width(); uint64(id)>>w != 0 {
			return 0, fmt.Errorf("%w: %d has bits above the %d of the layout %s", ErrInvalidID, int64(id), w, s.layout)
		}
		if s.keyBits > 0 {
			n = int(uint64(id) >> s.keyShift)
		}
	}
	if n >= len(s.perms) || s.perms[n] == nil {
		return 0, fmt.Errorf("%w: this scheme has no secret for its key number %d: %w", ErrInvalidID, n, ErrKey)
	}
	return ID(s.perms[n].decrypt(uint64(id))), nil
}

// words views IDs as numbers for the ciphers; both types have the same memory.
func words(ids []ID) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(ids))), len(ids))
}
