package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/snowfence/snowfence/lease/internal/answer"
	"github.com/snowfence/snowfence/lease/store"
)

// write swaps all records of the hold for ones with the given until and a
// new nonce.
func (c *storeClaim) write(ctx context.Context, records []store.Record, until int64) error {
	h := c.held
	newest := c.newest
	nonce := c.nonce()
	writes := make([]store.Write, len(records))
	for i, r := range records {
		r.Until, r.Nonce, r.Revision, r.Generation = until, nonce, h.records[i].Revision+1, h.generation
		r.At, r.Data = c.World.Now().UnixMilli(), ""
		writes[i] = store.Write{Old: h.records[i].Nonce, New: r}
	}
	if err := c.noteSend(ctx, h.records[0].Node, until); err != nil {
		return err
	}
	gone, unknown := c.swap(ctx, h, writes)
	// An older write of ours cannot come in over our newest one. A server's
	// claim has written nothing before, so it reads the record.
	overNewest := func(i int) bool { return writes[i].Old == newest }
	switch {
	case slices.ContainsFunc(gone, overNewest):
		return c.loseHold(nil, fmt.Errorf("another process changed node %d", h.records[0].Node))
	case len(gone) > 0:
		// One of our own writes without an answer may have come in between.
		if unknown != nil {
			h.noteReply(nonce, unknown)
		}
		if err := c.settleRenewal(ctx); err != nil {
			if !IsLost(err) {
				err = c.loseHold(nil, fmt.Errorf("node %d was changed, but the store does not say by whom: %w",
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

// nonce returns a new nonce, and remembers it. A ticket's begins with its
// attempt.
func (c *storeClaim) nonce() string {
	n := c.World.Text()
	if c.attempt != "" {
		n = c.attempt + "." + n
	}
	c.nonces, c.newest = append(c.nonces[max(0, len(c.nonces)-maxUnanswered):], n), n
	return n
}

// swap writes the records of a hold, and remembers the acknowledged ones.
// It returns which were lost, and why it does not know about the others.
// A store may read the namespace in the same round trip: that counts with
// the acknowledgement.
func (c *storeClaim) swap(ctx context.Context, h *hold, writes []store.Write) (gone []int, unknown error) {
	errs, rs, a := answer.Swap(ctx, c.World, c.st, writes, c.namespaceKey())
	h.replied, h.namespace = a.Reply, nil
	for i, err := range errs {
		switch {
		case err == nil:
			h.records[i], h.acked[i] = writes[i].New, writes[i].New.Revision
		case errors.Is(err, store.ErrLost):
			gone = append(gone, i)
		default:
			unknown = err
		}
	}
	if len(rs) == 1 && unknown == nil {
		h.namespace, c.last = &rs[0], &a
	}
	return gone, unknown
}

// maxUnanswered bounds the nonces that are remembered.
// The write of a forgotten one counts as another process's.
const maxUnanswered = 64

// noteReply keeps a nonce while its write may still come in. An
// acknowledged one forgets all.
func (h *hold) noteReply(nonce string, unknown error) {
	switch {
	case unknown == nil:
		clear(h.unanswered)
	case len(h.unanswered) < maxUnanswered:
		h.unanswered[nonce] = true
	}
}
