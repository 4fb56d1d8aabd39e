package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/internal/world"
)

// giveBack clears the holder. With sealed it also lowers
// until to used, because the grant makes no ID of that tick
// or a later one. A node of somebody else is left alone.
func (c *claim) giveBack(ctx context.Context, used int64, sealed bool) error {
	h := c.held
	switch {
	case h == nil:
		return nil
	case h.pending:
		return c.abandonAcquire(ctx)
	}
	for range 3 {
		if len(h.unanswered) > 0 {
			if err := c.resolve(ctx); lost(err) {
				break
			} else if err != nil {
				return err
			}
		}
		nonce := c.nonce()
		writes := make([]Write, len(h.records))
		for i, r := range h.records {
			w := vacated(c.world, r, nonce)
			w.Data = c.proof()
			if sealed {
				w.Until = min(r.Until, max(used, h.from))
			}
			writes[i] = Write{Old: r.Nonce, New: w}
		}
		gone, unknown := c.swap(ctx, h, writes)
		if gone > 0 && len(h.unanswered) > 0 {
			continue // a late write of our own
		}
		if errors.Is(unknown, ErrRefused) {
			break // by a server, which would refuse it again: the node runs out by itself
		}
		if unknown != nil {
			h.unanswered[nonce] = true
			return fmt.Errorf("lease: giving node %d of namespace %q back: %w", h.records[0].Node, c.name, unknown)
		}
		if gone > 0 {
			// The next acquisition tells another holder from a rolled-back store.
			c.lostHold, c.foundInstead = h, nil
		}
		break
	}
	c.returned()
	return nil
}

// returned notes that the store keeps nothing for this holder any more.
func (c *claim) returned() {
	c.held = nil
	c.kept.Store(nil)
}

// abandonAcquire gives back an acquisition
// that never counted. None of it was used.
func (c *claim) abandonAcquire(ctx context.Context) error {
	h := c.held
	stored, err := c.st.Get(ctx, keys(h.records))
	if err != nil {
		return fmt.Errorf("lease: reading node %d: %w", h.records[0].Node, err)
	}
	nonce := c.nonce()
	var writes []Write
	for _, r := range stored {
		if h.unanswered[r.Nonce] {
			w := vacated(c.world, r, nonce)
			w.Data, w.Until = c.proof(), h.from
			writes = append(writes, Write{Old: r.Nonce, New: w})
		}
	}
	if len(writes) > 0 {
		for _, err := range c.st.Swap(ctx, writes) {
			if err != nil && !errors.Is(err, ErrLost) && !errors.Is(err, ErrRefused) {
				return fmt.Errorf("lease: giving node %d back: %w", writes[0].New.Node, err) // it is tried again
			}
		}
	}
	c.returned()
	return nil
}

// vacated returns r as it is written when its holder is cleared.
func vacated(w world.World, r Record, nonce string) Record {
	r.Holder, r.Nonce, r.Revision, r.At = "", nonce, r.Revision+1, w.Now().UnixMilli()
	return r
}
