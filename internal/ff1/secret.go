package ff1

import (
	"errors"
	"fmt"
	"io"
)

// ErrNoKey means that New did not make the cipher.
var ErrNoKey = errors.New("ff1: the cipher has no key: it was not made by New")

func (c *Cipher) state() (*state, error) {
	if c == nil || c.secret == nil || *c.secret == nil || (*c.secret).block == nil {
		return nil, ErrNoKey
	}
	return *c.secret, nil
}

// Format implements [fmt.Formatter]: whatever the verb, keys are not
// printed.
func (c Cipher) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "ff1.Cipher[redacted]") }
