package sparx

import (
	"fmt"
	"io"
	"math/bits"
)

// KeySize is the size of a key in bytes.
const KeySize = 16

// A Cipher is SPARX-64/128 under one key. It takes one number, many, or
// many in a row. It prints as [redacted]. It is safe for concurrent use.
type Cipher struct {
	// The keys stand behind two pointers, because fmt cannot call Format on
	// an unexported field: it prints that, and follows one pointer but
	// never two.
	hidden **schedule
	path   Path
}

// New makes a cipher of a key of KeySize bytes, on the fastest path of this
// CPU (see [Available]).
func New(key []byte) (*Cipher, error) {
	paths := Available()
	return newOn(paths[len(paths)-1], key)
}

// newOn is New for an available path.
func newOn(p Path, key []byte) (*Cipher, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("sparx: a key of %d bytes, want %d", len(key), KeySize)
	}
	keys := new(schedule)
	keys.expand((*[KeySize]byte)(key))
	return &Cipher{hidden: &keys, path: p}, nil
}

// Encrypt64 encrypts a number.
func (c *Cipher) Encrypt64(v uint64) uint64 {
	return bits.ReverseBytes64(c.keys().encryptOne(bits.ReverseBytes64(v)))
}

// Decrypt64 is the inverse of Encrypt64.
func (c *Cipher) Decrypt64(v uint64) uint64 {
	return bits.ReverseBytes64(c.keys().decryptOne(bits.ReverseBytes64(v)))
}

func (c *Cipher) keys() *schedule { return *c.hidden }

// Format implements [fmt.Formatter]: whatever the verb, keys are not
// printed.
func (c Cipher) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "sparx.Cipher[redacted]") }
