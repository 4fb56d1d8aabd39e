// Package ticket writes the claims of a lease as signed bytes, and reads
// them. A server over a store remembers nothing of a lease: all that it has
// to know is in the ticket. The package asks no store, and decides nothing
// about a lease.
package ticket

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// Claims are the claims of a [wire.Ticket]. Its bytes are a version, the
// numbers as varints, the texts, each behind its length, and the MAC. The
// texts and the numbers stand in the order of the fields.
type Claims struct {
	Node       int64
	Nodes      int           // length of the block
	Unit       int64         // of the namespace
	From       int64         // first tick granted
	Until      int64         // first tick not granted
	TTL        time.Duration // of each renewal
	Revision   int64         // the lowest one of its nodes: only a rollback makes one of them less
	Generation int64
	Namespace  string
	Label      string
	Lessor     string // the life of the server of subleases; "" for a ticket of the store
	Holder     string
	Nonce      string // of the last write
	MAC        string // HMAC-SHA-256 of all before it, by the key in the namespace's record
}

// version names the form. Servers refuse others, so holders of another one
// acquire anew.
const version = 1

// AppendTo adds the bytes of the ticket to b.
func (c Claims) AppendTo(b []byte) []byte {
	b = append(b, version)
	for _, n := range [...]int64{
		c.Node, int64(c.Nodes), c.Unit, c.From, c.Until, int64(c.TTL), c.Revision, c.Generation,
	} {
		b = binary.AppendVarint(b, n)
	}
	for _, s := range [...]string{c.Namespace, c.Label, c.Lessor, c.Holder, c.Nonce} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return append(b, c.MAC...)
}

// Lease is the lease of the ticket; b are its bytes.
func (c Claims) Lease(b wire.Ticket) wire.Lease {
	return wire.Lease{
		Ticket: b, Namespace: c.Namespace, Label: c.Label, TTL: c.TTL, Lessor: c.Lessor,
		Grant: snowfence.Grant{Node: c.Node, From: c.From, Until: c.Until, Nodes: int64(c.Nodes)},
	}
}

// Parse reads a ticket, in the one form that [Signer.Sign] writes. It does
// not verify it. Bytes in another form are a [fault.ErrInvalid].
func Parse(b wire.Ticket) (c Claims, _ error) {
	var nodes, ttl int64
	rest := b[min(1, len(b)):]
	for _, to := range [...]*int64{&c.Node, &nodes, &c.Unit, &c.From, &c.Until, &ttl, &c.Revision, &c.Generation} {
		n, size := binary.Varint(rest)
		*to, rest = n, rest[max(size, 0):]
	}
	texts := string(rest)
	for _, to := range [...]*string{&c.Namespace, &c.Label, &c.Lessor, &c.Holder, &c.Nonce} {
		n, size := binary.Uvarint(rest)
		rest = rest[max(size, 0):]
		n = min(n, uint64(len(rest)))
		*to, rest = texts[len(texts)-len(rest):][:n], rest[n:]
	}
	c.Nodes, c.TTL, c.MAC = int(nodes), time.Duration(ttl), texts[len(texts)-len(rest):]
	var again [256]byte
	// A cut or another spelling has other bytes.
	if !bytes.Equal(c.AppendTo(again[:0]), b) || len(c.MAC) != sha256.Size || store.CheckName(c.Namespace) != nil ||
		c.Nodes < 1 || c.Unit < 1 || int64(c.Nodes)%c.Unit != 0 {
		return Claims{}, fault.Invalidf("lease: the ticket is damaged: send back the bytes of the last answer as " +
			"they are")
	}
	return c, nil
}

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
