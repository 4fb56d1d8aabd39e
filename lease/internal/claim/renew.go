package claim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// beginAnew renews the hold with a grant that leaves out the ticks since
// the last one, which ended more than a ttl ago.
func (c *storeClaim) beginAnew(ctx context.Context, now time.Time) (none snowfence.Grant, _ error) {
	ns, err := c.usable(ctx)
	if err != nil {
		return none, c.loseIfGone(err)
	}
	from, until, err := c.Ticks.grant(ns, c.held.records, now)
	if err != nil {
		return none, err
	}
	records := make([]store.Record, len(c.held.records))
	for i, r := range c.held.records {
		records[i] = granted(ns, r, from, until)
	}
	return c.renew(ctx, records, from, until, now)
}

// renew writes a grant into the records of the hold, and confirms it. now
// is the time before the write. The order is the rule: write, then read the
// namespace, then use.
func (c *storeClaim) renew(
	ctx context.Context, records []store.Record, from, until int64, now time.Time,
) (none snowfence.Grant, _ error) {
	if err := c.write(ctx, records, until); err != nil {
		return none, err
	}
	c.held.from = from
	return c.confirm(ctx, until, now)
}

// settleRenewal reads the stored records after lost answers. It takes an
// unanswered write of our own as the base of the next one, and uses it only
// after that one is acknowledged. A write of another process is a loss.
func (c *storeClaim) settleRenewal(ctx context.Context) error {
	h := c.held
	found, err := c.readPlaces(ctx, h)
	if err != nil {
		return err
	}
	stored := found[:len(found)-1]
	for i, r := range stored {
		known := h.records[i]
		attempt := r.Holder == known.Holder && attempted(r.Nonce, c.earlier)
		if r.Nonce != known.Nonce && !h.unanswered[r.Nonce] && !attempt {
			return c.loseHold(found,
				fmt.Errorf("another process changed node %d while the store did not answer", r.Node))
		}
	}
	h.records = stored
	for _, r := range stored {
		h.from = max(h.from, r.From) // after a lapsed grant, the ticks between are left out
	}
	return nil
}

// loseHold is lose after another write took the place of ours: instead is
// what [storeClaim.readPlaces] returned, nil if it was not read.
// [storeClaim.diagnose] tells another holder from a rollback by them.
func (c *storeClaim) loseHold(instead []store.Record, cause error) error {
	c.lostHold, c.foundInstead = c.held, instead
	return c.lose(cause)
}

// loseIfGone returns the error of a read of the namespace. If that is gone,
// and not deleted, the store lost it, and the hold with it.
func (c *storeClaim) loseIfGone(err error) error {
	if errors.Is(err, store.ErrMoved) {
		c.held = nil // a move copies no later write
	}
	if !errors.Is(err, fault.ErrNoNamespace) || errors.Is(err, fault.ErrDeleted) {
		return err
	}
	c.lossAfter, c.lossProven = &c.held.generation, true
	return c.lose(err)
}

// lose forgets the hold. The caller returns at once, because the seal comes
// first.
func (c *storeClaim) lose(cause error) error {
	c.held = nil
	return Lost(cause)
}
