package lease

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// ticket has the claims of a [wire.Ticket]: a byte with the version, the
// numbers as varints, the texts, each behind its length, and the MAC. The texts
// and the numbers stand in the order of the fields.
type ticket struct {
	Node       int64
	Nodes      int           // length of the block
	Unit       int64         // of the namespace
	From       int64         // first tick granted
	Until      int64         // first tick not granted
	TTL        time.Duration // of each renewal
	Revision   int64         // of the first node; others of a block may have another
	Generation int64
	Namespace  string
	Label      string
	Lessor     string // the life of the Sublets that gave the node; "" for a ticket of the store
	Holder     string
	Nonce      string // of the last write
	MAC        string // HMAC-SHA-256 of all before it, by the key in the namespace's record
}

// ticketVersion names the form. Servers refuse others, so holders of another
// one acquire anew.
const ticketVersion = 1

// revision returns the acknowledged revision of a node, as far as the ticket
// has it.
func (t ticket) revision(node int64) int64 {
	if node == t.Node {
		return t.Revision
	}
	return 1
}

// signer signs tickets with a key. It is not safe for concurrent use.
type signer struct {
	mac       hash.Hash
	body, sum []byte // of the last ticket
}

// signerOf returns nil without a key: then no ticket is good.
func signerOf(key string) *signer {
	if key == "" {
		return nil
	}
	return &signer{mac: hmac.New(sha256.New, []byte(key))}
}

// sign returns the ticket with its MAC.
func (s *signer) sign(t ticket) wire.Ticket {
	mac := s.macOf(t)
	return slices.Concat(s.body, mac)
}

// macOf returns the MAC of a ticket, until the next call.
func (s *signer) macOf(t ticket) []byte {
	t.MAC = ""
	s.body = t.appendTo(s.body[:0])
	s.mac.Reset()
	s.mac.Write(s.body)
	s.sum = s.mac.Sum(s.sum[:0])
	return s.sum
}

// verify is an error unless the signer signed the ticket.
func (s *signer) verify(t ticket) error {
	if s == nil || !hmac.Equal([]byte(t.MAC), s.macOf(t)) {
		return fmt.Errorf("lease: node %d of namespace %q: %w: the ticket was changed, or is from another store",
			t.Node, t.Namespace, store.ErrLost)
	}
	return nil
}

// appendTo adds the bytes of the ticket to b.
func (t ticket) appendTo(b []byte) []byte {
	b = append(b, ticketVersion)
	for _, n := range [...]int64{
		t.Node, int64(t.Nodes), t.Unit, t.From, t.Until, int64(t.TTL), t.Revision, t.Generation,
	} {
		b = binary.AppendVarint(b, n)
	}
	for _, s := range [...]string{t.Namespace, t.Label, t.Lessor, t.Holder, t.Nonce} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return append(b, t.MAC...)
}

// lease is the lease of the ticket; b are its bytes.
func (t ticket) lease(b wire.Ticket) wire.Lease {
	return wire.Lease{
		Ticket: b, Namespace: t.Namespace, Label: t.Label, TTL: t.TTL, Lessor: t.Lessor,
		Grant: snowfence.Grant{Node: t.Node, From: t.From, Until: t.Until, Nodes: int64(t.Nodes)},
	}
}

// ReadTicket returns the lease that a ticket stands for, for servers that look
// at a ticket before they act on it. It does not verify the ticket. Bytes that
// are no ticket are an [ErrInvalid].
func ReadTicket(b wire.Ticket) (wire.Lease, error) {
	t, err := parseTicket(b)
	if err != nil {
		return wire.Lease{}, err
	}
	return t.lease(b), nil
}

// ofStore parses a ticket of the store. One of a lessor is an [ErrElsewhere].
func ofStore(b wire.Ticket) (ticket, error) {
	t, err := parseTicket(b)
	if t.Lessor != "" {
		err = fmt.Errorf("lease: node %d of namespace %q: %w", t.Node, t.Namespace, ErrElsewhere)
	}
	return t, err
}

// parseTicket reads a ticket, in the one form that appendTo writes.
func parseTicket(b wire.Ticket) (t ticket, _ error) {
	var nodes, ttl int64
	rest := b[min(1, len(b)):]
	for _, to := range [...]*int64{&t.Node, &nodes, &t.Unit, &t.From, &t.Until, &ttl, &t.Revision, &t.Generation} {
		n, size := binary.Varint(rest)
		*to, rest = n, rest[max(size, 0):]
	}
	texts := string(rest)
	for _, to := range [...]*string{&t.Namespace, &t.Label, &t.Lessor, &t.Holder, &t.Nonce} {
		n, size := binary.Uvarint(rest)
		rest = rest[max(size, 0):]
		n = min(n, uint64(len(rest)))
		*to, rest = texts[len(texts)-len(rest):][:n], rest[n:]
	}
	t.Nodes, t.TTL, t.MAC = int(nodes), time.Duration(ttl), texts[len(texts)-len(rest):]
	var again [256]byte
	// A cut or another spelling has other bytes.
	if !bytes.Equal(t.appendTo(again[:0]), b) || len(t.MAC) != sha256.Size || checkName(t.Namespace) != nil ||
		t.Nodes < 1 || t.Unit < 1 || int64(t.Nodes)%t.Unit != 0 {
		return ticket{}, invalidf("lease: the ticket is damaged: send back the bytes of the last answer as they are")
	}
	return t, nil
}

// attemptLetters are the letters of an attempt.
const attemptLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func checkAttempt(s string) error {
	// with the additions it is a nonce of less than 64
	if len(s) < 16 || len(s) > 32 || strings.Trim(s, attemptLetters) != "" {
		return invalidf("lease: the attempt must be 16 to 32 random letters, digits, '-' and '_'")
	}
	return nil
}
