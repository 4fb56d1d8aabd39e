package claim

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// GiveBack implements [Claim]: it clears the holder. Of a grant that was
// sealed it also lowers until to used, because it makes no ID of that tick
// or a later one. A node of another holder is left alone.
func (c *storeClaim) GiveBack(ctx context.Context, o *Owed) error {
	h := c.held
	switch {
	case h == nil || c.Copied():
		return nil
	case h.pending:
		return c.abandonAcquire(ctx)
	}
	for range 3 {
		if len(h.unanswered) > 0 {
			if err := c.settleRenewal(ctx); IsLost(err) {
				break
			} else if err != nil {
				return err
			}
		}
		nonce := c.nonce()
		writes := make([]store.Write, len(h.records))
		for i, r := range h.records {
			w := vacated(c.World, r, nonce)
			if !h.confirmed && !h.copyUses {
				w.Until = h.from // it never counted
			} else if o != nil && o.Node == h.records[0].Node && o.From == h.from {
				w.Until = min(r.Until, max(o.Used, h.from))
			}
			writes[i] = store.Write{Old: r.Nonce, New: w}
		}
		gone, unknown := c.swap(ctx, h, writes)
		if len(gone) > 0 && len(h.unanswered) > 0 {
			continue // a late write of our own
		}
		if unknown != nil {
			h.noteReply(nonce, unknown)
			return fmt.Errorf("lease: giving node %d of namespace %q back: %w", h.records[0].Node, c.Name, unknown)
		}
		if len(gone) > 0 {
			c.lostHold, c.foundInstead = h, nil
		}
		break
	}
	c.forgetHold() // a late write of our own runs out by itself
	return c.tellRollback(ctx)
}

// forgetHold notes that the store keeps nothing for this holder any more.
func (c *storeClaim) forgetHold() {
	c.held = nil
	c.kept.Store(nil)
}

// abandonAcquire gives back an acquisition that never counted. None of it
// was used.
func (c *storeClaim) abandonAcquire(ctx context.Context) error {
	h := c.held
	stored, _, err := c.st.Get(ctx, keys(h.records))
	if err != nil {
		return fmt.Errorf("lease: reading node %d: %w", h.records[0].Node, err)
	}
	nonce := c.nonce()
	var writes []store.Write
	for _, r := range stored {
		if h.unanswered[r.Nonce] {
			w := vacated(c.World, r, nonce)
			w.Until = h.from
			writes = append(writes, store.Write{Old: r.Nonce, New: w})
		}
	}
	if len(writes) > 0 {
		errs, _, _ := c.st.Swap(ctx, writes)
		for _, err := range errs {
			if err != nil && !errors.Is(err, store.ErrLost) {
				return fmt.Errorf("lease: giving node %d back: %w", writes[0].New.Node, err) // it is tried again
			}
		}
	}
	c.forgetHold()
	return nil
}

// vacated returns the record r without a holder.
func vacated(w world.World, r store.Record, nonce string) store.Record {
	r.Holder, r.Nonce, r.Revision, r.At = "", nonce, r.Revision+1, w.Now().UnixMilli()
	return r
}
