package ticket

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// Signer signs tickets with a key. It is not safe for concurrent use.
type Signer struct {
	mac       hash.Hash
	body, sum []byte // of the last ticket
}

// NewSigner returns nil without a key: then no ticket is good.
func NewSigner(key string) *Signer {
	if key == "" {
		return nil
	}
	return &Signer{mac: hmac.New(sha256.New, []byte(key))}
}

// Sign returns the ticket with its MAC.
func (s *Signer) Sign(c Claims) wire.Ticket {
	mac := s.macOf(c)
	return slices.Concat(s.body, mac)
}

// macOf returns the MAC of a ticket, until the next call.
func (s *Signer) macOf(c Claims) []byte {
	c.MAC = ""
	s.body = c.AppendTo(s.body[:0])
	s.mac.Reset()
	s.mac.Write(s.body)
	s.sum = s.mac.Sum(s.sum[:0])
	return s.sum
}

// Verify returns a [store.ErrLost] unless the signer signed the ticket.
func (s *Signer) Verify(c Claims) error {
	if s == nil || !hmac.Equal([]byte(c.MAC), s.macOf(c)) {
		return fmt.Errorf("lease: node %d of namespace %q: %w: the ticket was changed, or is from another store",
			c.Node, c.Namespace, store.ErrLost)
	}
	return nil
}
