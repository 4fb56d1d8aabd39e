package lease

import (
	"fmt"
	"strings"

	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/internal/ticket"
	"github.com/snowfence/snowfence/lease/wire"
)

// ReadTicket returns the lease that a ticket stands for, for servers that
// look at a ticket before they act on it. It does not verify the ticket.
// Bytes that are no ticket are an [ErrInvalid].
func ReadTicket(b wire.Ticket) (wire.Lease, error) {
	t, err := ticket.Parse(b)
	if err != nil {
		return wire.Lease{}, err
	}
	return t.Lease(b), nil
}

// ofStore parses a ticket of the store. One of a lessor is an
// [ErrElsewhere].
func ofStore(b wire.Ticket) (ticket.Claims, error) {
	t, err := ticket.Parse(b)
	if t.Lessor != "" {
		err = fmt.Errorf("lease: node %d of namespace %q: %w", t.Node, t.Namespace, ErrElsewhere)
	}
	return t, err
}

const attemptLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func checkAttempt(s string) error {
	// with the additions it is a nonce of less than 64
	if len(s) < 16 || len(s) > 32 || strings.Trim(s, attemptLetters) != "" {
		return fault.Invalidf("lease: the attempt must be 16 to 32 random letters, digits, '-' and '_'")
	}
	return nil
}
