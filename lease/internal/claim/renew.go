package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/answer"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
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
	// An older write of ours cannot come in over our newest one. A server
	// has read the record, and has written nothing.
	overNewest := func(i int) bool { return writes[i].Old == newest }
	switch {
	case slices.ContainsFunc(gone, overNewest):
		return c.loseHold(nil, fmt.Errorf("another process changed node %d", h.records[0].Node))
	case len(gone) > 0:
		// One of our own writes without a reply may have come in between.
		if unknown != nil {
			h.noteReply(nonce, unknown)
		}
		if err := c.resolve(ctx); err != nil {
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
	c.wrote, c.newest = append(c.wrote[max(0, len(c.wrote)-maxUnanswered):], n), n
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

// noteReply keeps a nonce while its write may still come in. A newer write
// forgets all.
func (h *hold) noteReply(nonce string, unknown error) {
	switch {
	case unknown == nil:
		clear(h.unanswered)
	case len(h.unanswered) < maxUnanswered:
		h.unanswered[nonce] = true
	}
}

// confirm decides whether an acknowledged write may be used: only if it was
// made for the present namespace and store. Its ticks may be used up to
// until, or to where the namespace's limits reach from now, the time before
// the write, if that is less. What an earlier confirmation allowed stays
// allowed.
//
// Invariant: a confirmation that sees lowered limits grants nothing beyond
// them, however late that is.
func (c *storeClaim) confirm(ctx context.Context, until int64, now time.Time) (none snowfence.Grant, err error) {
	h := c.held
	ns, err := c.namespaceAfter(ctx, h) // and c.last, the answer that it came with
	if err != nil {
		return none, c.loseIfGone(err)
	}
	// After a rollback another generation can have the same number. An
	// acquisition that began before it used another floor.
	if ns.Generation == h.generation && !h.confirmed && ns.Floor != h.floor {
		return none, c.lose(fmt.Errorf("namespace %q was changed: its floor is tick %d, no longer %d",
			c.Name, ns.Floor, h.floor))
	}
	if ns.Generation != h.generation || ns.State != scope.Active {
		if ns.Generation < h.generation {
			c.suspect, c.proven = &h.generation, true
		}
		return none, c.lose(fmt.Errorf("namespace %q was changed: it is %s in generation %d, no longer %d",
			c.Name, ns.State, ns.Generation, h.generation))
	}
	// A node is recorded before its holder is evicted. A holder that took
	// it in between learns it here.
	if err := ns.OfLeases(h.records[0].Node, c.nodes(h)); err != nil {
		return none, c.lose(err)
	}
	id := c.last.Identity
	same, err := ns.Identify(id)
	switch {
	case err != nil:
		return none, err
	case !same:
		c.suspect = &h.generation
		return none, c.lose(fmt.Errorf("the store was %q and is %q now", ns.Identity, id))
	}
	if err := c.last.Follows(h.replied); err != nil {
		return none, fmt.Errorf("lease: namespace %q: %w", c.Name, err)
	}
	if c.MaxSkew > ns.MaxSkew { // it was lowered, and now may be further off
		c.MaxSkew = ns.MaxSkew
		if _, err := c.last.Clock(c.World, c.Now, c.MaxSkew); err != nil {
			return none, err
		}
	}
	if id != ns.Identity { // it names more sources
		if err := ns.NoteIdentity(ctx, c.st, id); err != nil && !errors.Is(err, store.ErrLost) {
			return none, err
		}
	}
	h.confirmed, c.identity, c.lastBlock = true, id, keys(h.records)
	node := h.records[0].Node
	h.until = max(h.until, h.from, min(until, c.reach(ns, now)))
	c.note(h.from, h.until)
	return snowfence.Grant{Node: node, From: h.from, Until: h.until, Nodes: c.nodes(h)}, nil
}

// reach returns the first tick that no lease may use at time now: the
// longest ttl of the namespace ahead, rounded up by two ticks.
func (c *storeClaim) reach(ns scope.Namespace, now time.Time) int64 {
	return max(c.Ticks.Layout.TickOf(now.Add(ns.MaxTTL)), 0) + 2
}

// resolve reads the stored records after lost replies. It takes an
// unanswered write of our own as the base of the next one, and uses it only
// after that one is acknowledged. A write of another process is a loss.
func (c *storeClaim) resolve(ctx context.Context) error {
	h := c.held
	found, err := c.readPlaces(ctx, h)
	if err != nil {
		return err
	}
	stored := found[:len(found)-1]
	for i, r := range stored {
		if r.Nonce != h.records[i].Nonce && !h.unanswered[r.Nonce] {
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
	if !errors.Is(err, fault.ErrNoNamespace) || errors.Is(err, fault.ErrDeleted) {
		return err
	}
	c.suspect, c.proven = &c.held.generation, true
	return c.lose(err)
}

// lose forgets the hold. The caller returns at once, because the seal comes
// first.
func (c *storeClaim) lose(cause error) error {
	c.held = nil
	return Lost(cause)
}
