package lease

import (
	"context"
	"fmt"

	"github.com/snowfence/snowfence"
)

// renew moves the until of what is held ahead. The order is the rule: write, then read
// the namespace, then use.
func (c *claim) renew(ctx context.Context) (none snowfence.Grant, err error) {
	h := c.held
	now, err := c.clock(ctx)
	if err != nil {
		return none, err
	}
	if len(h.unanswered) > 0 {
		if err := c.resolve(ctx); err != nil {
			return none, err
		}
	}
	from := h.from
	records := h.records
	var until int64
	if c.ticks.lapsed(records, now) {
		ns, err := c.usable(ctx)
		if err != nil {
			return none, err
		}
		if from, until, err = c.ticks.grant(ns, records, now); err != nil {
			return none, err
		}
		records = make([]Record, len(records))
		for i, r := range h.records {
			records[i] = granted(ns, r, from, until)
		}
	} else {
		until = c.ticks.renewal(records, now)
	}
	if err := c.write(ctx, records, until); err != nil {
		return none, err
	}
	h.from = from
	return c.confirm(ctx, until)
}

// write swaps all records of the hold for ones with the given until and a fresh nonce.
func (c *claim) write(ctx context.Context, records []Record, until int64) error {
	h := c.held
	nonce := c.nonce()
	writes := make([]Write, len(records))
	for i, r := range records {
		r.Until, r.Nonce, r.Revision, r.Generation = until, nonce, h.records[i].Revision+1, h.generation
		r.At, r.Data = c.world.Now().UnixMilli(), c.proof()
		writes[i] = Write{h.records[i].Nonce, r}
	}
	if err := c.noteSend(ctx, h.records[0].Node, until); err != nil {
		return err
	}
	doubt := len(h.unanswered) > 0
	gone, unknown := c.swap(ctx, h, writes)
	switch {
	case gone > 0 && !doubt:
		return c.loseHold(nil, fmt.Errorf("node %d was changed by somebody else", h.records[0].Node))
	case gone > 0:
		// One of our own writes whose reply was lost may have come in between.
		if unknown != nil {
			h.noteReply(nonce, unknown)
		}
		if err := c.resolve(ctx); err != nil {
			if !lost(err) {
				err = c.lose(fmt.Errorf("node %d was changed, and it cannot be read by whom: %w",
					h.records[0].Node, err))
			}
			return err
		}
		return fmt.Errorf("lease: node %d: a late write of our own came in between", h.records[0].Node)
	}
	h.noteReply(nonce, unknown)
	if unknown != nil {
		return fmt.Errorf("lease: writing node %d: %w", h.records[0].Node, unknown)
	}
	return nil
}

// maxUnanswered bounds how many nonces are remembered. A forgotten one only means that
// its write, should it come in, is taken for somebody else's.
const maxUnanswered = 64

// noteReply keeps a nonce whose write may still come in, or forgets all when a newer one is
// known to stand.
func (h *hold) noteReply(nonce string, unknown error) {
	switch {
	case unknown == nil:
		clear(h.unanswered)
	case len(h.unanswered) < maxUnanswered:
		h.unanswered[nonce] = true
	}
}

// resolve reads what is stored when replies were lost. It adopts what an own unanswered
// write left, as the base of the next write: none of it is used before that next write is
// acknowledged. Anything of somebody else is the loss of the lease.
func (c *claim) resolve(ctx context.Context) error {
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
		h.from = max(h.from, r.From) // a lapsed grant that was taken anew leaves out what lies between
	}
	return nil
}
