package ff1

import (
	"errors"
	"fmt"
	"io"
)

// ErrNoKey means that the cipher was wiped, or that New did not make it.
var ErrNoKey = errors.New("ff1: the cipher has no key: it was wiped, or not made by New")

func (c *Cipher) state() (*state, error) {
	if c == nil || c.hidden == nil || *c.hidden == nil || (*c.hidden).block == nil {
		return nil, ErrNoKey
	}
	return *c.hidden, nil
}

// Wipe takes the key from the cipher and all its copies, which return ErrNoKey
// afterwards. No other call may be running. It overwrites what this package
// derived from the key. The round keys of AES, of which the first is the key,
// belong to crypto/aes, which cannot wipe them: they stay in memory until the
// garbage collector reuses it.
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
