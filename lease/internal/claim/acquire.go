package claim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// Next implements [Claim].
func (c *storeClaim) Next(ctx context.Context) (snowfence.Grant, error) {
	g, err := c.proceed(ctx)
	if c.lastBlock != nil {
		err = c.loseIfReplaced(err)
	}
	return g, err
}

// proceed takes the next step: it acquires, settles an acquisition, or
// renews.
func (c *storeClaim) proceed(ctx context.Context) (none snowfence.Grant, _ error) {
	h := c.held
	switch {
	case h == nil:
		return c.acquire(ctx, c.lastBlock != nil || c.onlyFree)
	case h.pending:
		return c.settleAcquire(ctx)
	}
	now, err := c.clock(ctx)
	if err != nil {
		return none, err
	}
	if len(h.unanswered) > 0 {
		if err := c.settleRenewal(ctx); err != nil {
			return none, err
		}
	}
	if c.Ticks.lapsed(h.records, now) {
		return c.beginAnew(ctx, now)
	}
	return c.renew(ctx, h.records, h.from, c.Ticks.renewal(h.records, now), now)
}

// acquire gets a grant of another node, or a later one of the same node.
// With onlyFree, as after an earlier grant, it takes no fixed node from its
// holder: else two leases would take it from each other for ever.
func (c *storeClaim) acquire(ctx context.Context, onlyFree bool) (none snowfence.Grant, err error) {
	if err := c.tellRollback(ctx); err != nil {
		return none, err
	}
	c.lossAfter, c.lossProven = nil, false
	ns, err := c.usable(ctx)
	if err != nil {
		return none, err
	}
	now, err := c.clock(ctx)
	if err != nil {
		return none, err
	}
	if c.Node != nil {
		rs, err := c.fixedBlock(ctx, ns, now, onlyFree)
		if err != nil {
			return none, err
		}
		return c.take(ctx, ns, rs, now)
	}
	among, err := c.within(ns)
	if err != nil {
		return none, err
	}
	f := &finder{c: c, ns: among, now: c.Ticks.Layout.TickOf(now)}
	for rs, err := range f.candidates(ctx) {
		if err != nil {
			return none, err
		}
		g, err := c.take(ctx, ns, rs, now)
		if !errors.Is(err, store.ErrLost) {
			return g, err
		}
		// Another process was faster, or the store was rolled back after
		// the read.
		if err := c.diagnose(ctx); err != nil {
			return none, err
		}
		if c.lossAfter != nil {
			return c.acquire(ctx, onlyFree)
		}
	}
	return none, c.taken
}

// fixedBlock returns the records of the fixed block, or why it may not be
// taken.
func (c *storeClaim) fixedBlock(
	ctx context.Context, ns scope.Namespace, now time.Time, onlyFree bool,
) ([]store.Record, error) {
	first := *c.Node
	rs, _, err := c.st.Get(ctx, c.blockKeys(first))
	if err != nil {
		return nil, fmt.Errorf("lease: reading node %d: %w", first, err)
	}
	for _, r := range rs {
		if r.Veto != "" {
			return nil, fmt.Errorf("lease: node %d of namespace %q: %w: %s", r.Node, c.Name, fault.ErrVetoed,
				fault.Shown(r.Veto))
		}
		held := r.Held(c.Ticks.Layout.TickOf(now)) && r.Generation >= ns.Since
		if held && !c.mine(r) && (onlyFree || c.Guard && r.Label != c.Label) {
			until := c.Ticks.Layout.TimeOf(r.Until)
			return nil, &TakenError{
				Nodes: snowfence.NodeRange{From: r.Node, Until: r.Node + c.unit}, Fixed: true, guarded: c.Guard,
				Block: c.Nodes, Held: c.unit,
				Holders: r.Label, same: r.Label == c.Label, NextFree: until.Sub(now),
				Namespace: c.Name, until: until,
			}
		}
	}
	if err := ns.OfLeases(first, int64(c.Nodes)); err != nil {
		return nil, err
	}
	return rs, nil
}

// take acquires the block of these records; [store.ErrLost] means that
// another process was faster.
func (c *storeClaim) take(
	ctx context.Context, ns scope.Namespace, rs []store.Record, now time.Time,
) (none snowfence.Grant, _ error) {
	if err := c.outdated(ctx, ns, rs); err != nil {
		return none, err
	}
	from, until, err := c.Ticks.grant(ns, rs, now)
	if err != nil {
		return none, err
	}
	if err := c.noteSend(ctx, rs[0].Node, until); err != nil {
		return none, err
	}
	nonce := c.nonce()
	h := &hold{
		unanswered: map[string]bool{nonce: true},
		generation: ns.Generation, floor: ns.Floor, from: from, pending: true, acked: make([]int64, len(rs)),
	}
	writes := make([]store.Write, len(rs))
	for i, r := range rs {
		w := granted(ns, r, from, until)
		w.Nonce, w.Revision, w.Generation = nonce, r.Revision+1, ns.Generation
		w.Holder, w.Label, w.At, w.Data = c.holderOf(from), c.Label, c.World.Now().UnixMilli(), ""
		writes[i] = store.Write{Old: r.Nonce, New: w}
		h.records = append(h.records, w)
	}
	c.held = h
	gone, unknown := c.swap(ctx, h, writes)
	switch {
	case unknown != nil: // perhaps it was written, perhaps not, perhaps it still will be
		return none, fmt.Errorf("lease: acquiring node %d: %w", rs[0].Node, unknown)
	case len(gone) > 0:
		if len(rs) > 1 {
			if err := c.abandonAcquire(ctx); err != nil {
				return none, err
			}
		}
		c.held, c.lostHold, c.foundInstead = nil, h, nil // the faster one's revision is ours, or later
		return none, fmt.Errorf("lease: node %d: %w", rs[0].Node, store.ErrLost)
	}
	h.pending = false
	clear(h.unanswered)
	g, err := c.confirm(ctx, until, now)
	if err != nil {
		return none, err
	}
	c.taken = nil
	c.Logger.Info("lease acquired", "namespace", c.Name, "label", c.Label,
		"node", rs[0].Node, "nodes", c.nodes(h), "from", from, "until", until)
	return g, nil
}

// outdated is an error if the namespace was changed after it was read and
// before the records were: a write of the older generation would hide their
// until ([scope.Namespace.FloorOf]). A namespace that vanished and was made
// again may be behind its records.
func (c *storeClaim) outdated(ctx context.Context, ns scope.Namespace, rs []store.Record) error {
	for _, r := range rs {
		if r.Generation <= ns.Generation {
			continue
		}
		switch current, err := c.readNamespace(ctx); {
		case err != nil:
			return err
		case current.Generation != ns.Generation:
			return Lost(fmt.Errorf("lease: namespace %q was changed while this process looked for a node",
				c.Name))
		}
		return nil
	}
	return nil
}

// settleAcquire finds out whether an unanswered acquisition was written,
// and goes on from there.
func (c *storeClaim) settleAcquire(ctx context.Context) (none snowfence.Grant, _ error) {
	h := c.held
	stored, _, err := c.st.Get(ctx, keys(h.records))
	if err != nil {
		return none, fmt.Errorf("lease: reading node %d: %w", h.records[0].Node, err)
	}
	for _, r := range stored {
		if !h.unanswered[r.Nonce] {
			// Not written, or taken by another process. A late write of
			// ours runs out by itself.
			if err := c.abandonAcquire(ctx); err != nil {
				return none, err
			}
			return c.acquire(ctx, true)
		}
	}
	h.records, h.pending = stored, false
	return c.proceed(ctx)
}
