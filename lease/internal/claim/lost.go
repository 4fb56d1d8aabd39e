package claim

import (
	"errors"

	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// A store swap is lost if the record had another nonce: [store.ErrLost].
// The sender decides: storeClaim.write for a renewal, storeClaim.take for
// an acquisition, storeClaim.GiveBack for a release, and package scope for
// the record of a namespace. If another process wrote instead of a renewal,
// the lease is lost: this file is about that. Whether the store was rolled
// back is found out afterwards, in rollback.go.

var errLost = errors.New("the grant may not be used any more")

// Lost says that the grant may not be used any more, and why.
func Lost(cause error) error { return fault.Mark(cause, errLost) }

// IsLost reports whether the grant may not be used any more.
func IsLost(err error) bool { return errors.Is(err, errLost) }

// Forget implements [Claim].
func (c *storeClaim) Forget() {
	if h := c.held; h != nil && !h.pending {
		c.lostHold, c.foundInstead = h, nil
	}
	c.held, c.who, c.wrote = nil, c.World.Text(), nil
	c.kept.Store(nil)
}

// loseHold is lose after another write took the place of ours: instead are
// the records in that place, nil if they were not read.
// [storeClaim.diagnose] tells another holder from a rollback by them.
func (c *storeClaim) loseHold(instead []store.Record, cause error) error {
	c.lostHold, c.foundInstead = c.held, instead
	return c.lose(cause)
}

// lose forgets the hold. The caller returns at once, because the seal comes
// first.
func (c *storeClaim) lose(cause error) error {
	c.held = nil
	return Lost(cause)
}
