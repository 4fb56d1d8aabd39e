package ff1

import (
	"errors"
	"fmt"
	"io"
)

// ErrNoKey is returned by a cipher that was wiped, or that New did not make.
var ErrNoKey = errors.New("ff1: the cipher has no key: it was wiped, or not made by New")

func (c *Cipher) state() (*state, error) {
	if c == nil || c.hidden == nil || *c.hidden == nil || (*c.hidden).block == nil {
		return nil, ErrNoKey
	}
	return *c.hidden, nil
}

// Wipe takes the key from the cipher and from all copies of it, which return ErrNoKey
// from then on. It is the last call of a cipher, when no other is running. What this
// package worked out from the key is overwritten with zeros. The round keys of AES are
// not, and the key is the first of them: they belong to crypto/aes, which has no way to
// do it. They are only let go, and stay in memory until the garbage collector gives it to
// others.
func (c *Cipher) Wipe() {
	s, err := c.state()
	if err != nil {
		return
	}
	s.block = nil
	s.high, s.low = 0, 0
}

// Format implements [fmt.Formatter]: whatever the verb, keys are not printed.
func (c Cipher) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "ff1.Cipher[redacted]") }
