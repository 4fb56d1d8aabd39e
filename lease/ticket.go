package lease

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/wire"
)

// ticket is what a [wire.Ticket] says.
type ticket struct {
	Namespace  string        `json:"namespace"`
	Node       int64         `json:"node"`
	Nodes      int           `json:"nodes"` // length of the block
	Unit       int64         `json:"unit"`  // of the namespace
	From       int64         `json:"from"`  // first tick granted
	Until      int64         `json:"until"` // first tick not granted
	TTL        time.Duration `json:"ttl"`
	Label      string        `json:"label"`
	Lessor     string        `json:"lessor"` // who handed the node out from memory; "" for a ticket of the store
	Holder     string        `json:"holder"`
	Nonce      string        `json:"nonce"`    // of the last write
	Revision   int64         `json:"revision"` // of the first node; others of a block may have another
	Generation int64         `json:"generation"`
	MAC        string        `json:"mac"` // of all the others, by the key in the namespace's record
}

// revision returns the one that the store had acknowledged of a node, as far as the ticket says it.
func (t ticket) revision(node int64) int64 {
	if node == t.Node {
		return t.Revision
	}
	return 1
}

// verify is an error unless the key signed the ticket.
func (t ticket) verify(key string) error {
	if key == "" || !hmac.Equal([]byte(t.MAC), []byte(t.sign(key).MAC)) {
		return fmt.Errorf("lease: node %d of namespace %q: %w: the ticket was changed, or is from another store",
			t.Node, t.Namespace, store.ErrLost)
	}
	return nil
}

// sign returns the ticket with its MAC: HMAC-SHA-256 of its other fields, as JSON.
func (t ticket) sign(key string) ticket {
	t.MAC = ""
	h := hmac.New(sha256.New, []byte(key))
	h.Write(t.bytes())
	t.MAC = hex.EncodeToString(h.Sum(nil))
	return t
}

func (t ticket) bytes() wire.Ticket {
	b, _ := json.Marshal(t) // texts and numbers always have a JSON
	return b
}

func (t ticket) lease() wire.Lease {
	return wire.Lease{
		Ticket: t.bytes(), Namespace: t.Namespace, Label: t.Label, TTL: t.TTL, Lessor: t.Lessor,
		Grant: snowfence.Grant{Node: t.Node, From: t.From, Until: t.Until, Nodes: int64(t.Nodes)},
	}
}

// ReadTicket returns the lease that a ticket stands for, for servers that look at a ticket before
// they act on it. It does not verify the ticket. Bytes that are no ticket are an [ErrInvalid].
func ReadTicket(b wire.Ticket) (wire.Lease, error) {
	t, err := parseTicket(b)
	if err != nil {
		return wire.Lease{}, err
	}
	return t.lease(), nil
}

// ofStore parses a ticket of the store. One of a lessor is an [ErrElsewhere].
func ofStore(b wire.Ticket) (ticket, error) {
	t, err := parseTicket(b)
	if err == nil && t.Lessor != "" {
		err = fmt.Errorf("lease: node %d of namespace %q: %w", t.Node, t.Namespace, ErrElsewhere)
	}
	return t, err
}

func parseTicket(b wire.Ticket) (ticket, error) {
	var t ticket
	if json.Unmarshal(b, &t) != nil || checkName(t.Namespace) != nil ||
		t.Nodes < 1 || t.Unit < 1 || int64(t.Nodes)%t.Unit != 0 {
		return ticket{}, invalidf("lease: the ticket is damaged: send back the bytes of the last answer as they are")
	}
	return t, nil
}

// attemptLetters are what an attempt is made of.
const attemptLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func checkAttempt(s string) error {
	// with what is added it is a nonce of less than 64
	if len(s) < 16 || len(s) > 32 || strings.Trim(s, attemptLetters) != "" {
		return invalidf("lease: the attempt must be 16 to 32 random letters, digits, '-' and '_'")
	}
	return nil
}
