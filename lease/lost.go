package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/lease/store"
)

// A store swap is lost if the record had another nonce: [ErrLost]. What follows is decided
// by its sender: claim.write for a renewal, claim.take for an acquisition, claim.giveBack
// for a release, and the callers of Namespace.write for the record of a namespace.
// If somebody else wrote instead of a renewal, the lease is lost: this file is about that.
// Whether the store was rolled back is found out afterwards, in rollback.go.

// lostError says why the grant may not be used any more.
type lostError struct{ cause error }

func (e *lostError) Error() string { return e.cause.Error() }

func (e *lostError) Unwrap() error { return e.cause }

func isLost(err error) bool {
	var e *lostError
	return errors.As(err, &e)
}

// lose forgets the hold. The caller returns at once, because the seal comes first.
func (c *storeClaim) lose(cause error) error {
	c.held = nil
	return &lostError{cause}
}

// loseHold is lose after another write stood in place of ours.
// Later [claim.diagnose] tells another holder from a rollback, by
// met: the records that stood there, nil if they were not read.
func (c *storeClaim) loseHold(met []store.Record, cause error) error {
	c.lostHold, c.foundInstead = c.held, met
	return c.lose(cause)
}

// resolve reads what is stored after lost replies. It takes an unanswered
// write of our own as the base of the next one, and uses it only after
// that one is acknowledged. A write of somebody else is a loss.
func (c *storeClaim) resolve(ctx context.Context) error {
	h := c.held
	stored, err := c.st.Get(ctx, keys(h.records))
	if err != nil {
		return fmt.Errorf("lease: reading node %d: %w", h.records[0].Node, err)
	}
	for i, r := range stored {
		if r.Nonce != h.records[i].Nonce && !h.unanswered[r.Nonce] {
			return c.loseHold(stored,
				fmt.Errorf("node %d was changed by somebody else while the store did not answer", r.Node))
		}
	}
	h.records = stored
	for _, r := range stored {
		h.from = max(h.from, r.From) // after a lapsed grant, the ticks between are left out
	}
	return nil
}
