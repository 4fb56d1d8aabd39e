package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// first acquires for Open: it takes a fixed node over, and waits for a free one if it may.
func (l *Lease) first(ctx context.Context) error {
	<-l.ops
	defer l.unlock()
	var before error // that all nodes were taken
	for failures := 0; ; failures++ {
		err := l.acquire(ctx, false)
		if err == nil {
			return nil
		}
		if before != nil && ctx.Err() != nil {
			return fmt.Errorf("%w (%w)", before, ctx.Err())
		}
		var taken *TakenError
		var held *HeldError
		if errors.As(err, &taken) || errors.As(err, &held) {
			if !l.opts.Wait {
				return err
			}
			before, failures = err, 0
		} else if !lost(err) && !errors.Is(err, ErrLost) || failures > 20 {
			return errors.Join(err, l.undo(ctx))
		}
		wait := l.backoff(failures)
		if taken != nil || held != nil {
			wait = l.opts.TTL/10 + l.backoff(8) // somebody may give back any time
			if taken != nil && taken.NextFree > 0 && taken.NextFree < wait {
				wait = taken.NextFree + l.backoff(0)
			}
			l.opts.Logger.Info("waiting for a free node", "namespace", l.name, "label", l.opts.Label, "cause", err)
		}
		if l.world.Wait(wait, ctx.Done()) == 0 {
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		}
	}
}

// undo gives back what a failed Open may have left in the store, as far as it answers.
func (l *Lease) undo(ctx context.Context) error {
	switch {
	case l.hold == nil || ctx.Err() != nil:
		return nil
	case l.hold.pending:
		return l.untake(ctx)
	}
	return l.giveBack(ctx, 0, true)
}

// acquire gets a grant of another node, or a later grant of the same one. Healing leaves a live holder of a fixed node alone, or two leases
// of one node would take it from each other for ever.
func (l *Lease) acquire(ctx context.Context, healing bool) error {
	if err := l.diagnose(ctx); err != nil {
		return err
	}
	if l.suspect != nil {
		// A later generation than the one of our last grant was written after the store went back, since it was not there before.
		after := *l.suspect
		err := l.raiseFloor(ctx, func(ns Namespace, id string) bool {
			return ns.Generation > after && ns.Floor >= l.known && ns.Identity == id
		})
		if errors.Is(err, ErrRefused) {
			err = l.outwait(ctx, err)
		}
		if err != nil {
			return err
		}
		l.suspect = nil
	}
	now, err := l.clock(ctx)
	if err != nil {
		return err
	}
	ns, err := l.usable(ctx)
	if err != nil {
		return err
	}
	if l.opts.Node != nil {
		rs, err := l.fixed(ctx, ns, now, healing)
		if err != nil {
			return err
		}
		return l.take(ctx, ns, rs, now)
	}
	among, err := l.within(ns)
	if err != nil {
		return err
	}
	f := &finder{l: l, ns: among, now: l.ticks.layout.TickOf(now)}
	for rs, err := range f.candidates(ctx) {
		if err != nil {
			return err
		}
		err := l.take(ctx, ns, rs, now)
		if err == nil || !errors.Is(err, ErrLost) || lost(err) {
			return err
		}
		// Somebody else was faster, or the store was set back behind what was read.
		if err := l.diagnose(ctx); err != nil {
			return err
		}
		if l.suspect != nil {
			return l.acquire(ctx, healing)
		}
	}
	if l.offers != nil {
		return fmt.Errorf("lease: a node that was free: %w", ErrLost) // the next offer
	}
	return f.taken(ctx)
}

// fixed returns the records of the fixed block, or why it may not be taken.
func (l *Lease) fixed(ctx context.Context, ns Namespace, now time.Time, healing bool) ([]Record, error) {
	first := *l.opts.Node
	rs, err := l.st.Get(ctx, blockKeys(l.name, first, l.opts.Nodes))
	if err != nil {
		return nil, fmt.Errorf("lease: reading node %d: %w", first, err)
	}
	for _, r := range rs {
		if r.Veto != "" {
			return nil, fmt.Errorf("lease: node %d of namespace %q: %w: %s", r.Node, l.name, ErrVetoed, r.Veto)
		}
		held := r.Held(l.ticks.layout.TickOf(now)) && r.Generation >= ns.Since
		if held && !l.mine(r) && (healing || l.opts.Guard && r.Label != l.opts.Label) {
			return nil, &HeldError{l.name, r.Node, r.Label, l.ticks.layout.TimeOf(r.Until)}
		}
	}
	if l.opts.Check != nil {
		if err := l.opts.Check(ctx, first); err != nil {
			return nil, fmt.Errorf("lease: node %d of namespace %q: %w: %w", first, l.name, ErrVetoed, err)
		}
	}
	return rs, nil
}

// take acquires the block whose records are rs. The error is an [ErrLost] if somebody else was faster.
func (l *Lease) take(ctx context.Context, ns Namespace, rs []Record, now time.Time) error {
	if err := l.outdated(ctx, ns, rs); err != nil {
		return err
	}
	from, until, err := l.ticks.grant(ns, rs, now)
	if err != nil {
		return err
	}
	if err := l.sending(ctx, rs[0].Node, until); err != nil {
		return err
	}
	nonce := l.nonce()
	h := &hold{unanswered: map[string]bool{nonce: true}, generation: ns.Generation, floor: ns.Floor, from: from, pending: true}
	writes := make([]Write, len(rs))
	for i, r := range rs {
		w := granted(ns, r, from, until)
		w.Nonce, w.Revision, w.Generation = nonce, r.Revision+1, ns.Generation
		w.Holder, w.Label, w.At, w.Data = l.holder(from), l.opts.Label, l.world.Now().UnixMilli(), l.proof()
		writes[i] = Write{r.Nonce, w}
		h.records = append(h.records, w)
	}
	l.hold = h
	gone, unknown := l.swap(ctx, h, writes)
	switch {
	case unknown != nil: // perhaps it was written, perhaps not, perhaps it still will be
		return fmt.Errorf("lease: acquiring node %d: %w", rs[0].Node, unknown)
	case gone > 0:
		if len(rs) > 1 {
			if err := l.untake(ctx); err != nil {
				return err
			}
		}
		l.hold, l.lostTo = nil, h
		if l.watched {
			all := append(slices.Clone(rs), l.seen...)
			l.seen = all[:min(len(all), 2*maxEvidence)]
		}
		return fmt.Errorf("lease: node %d: %w", rs[0].Node, ErrLost)
	}
	h.pending = false
	clear(h.unanswered)
	if err := l.confirm(ctx, until); err != nil {
		return err
	}
	l.own = keys(h.records)
	l.remember(rs[0].Node)
	l.opts.Logger.Info("lease acquired", "namespace", l.name, "label", l.opts.Label, "node", rs[0].Node, "nodes", len(rs), "from", from, "until", until)
	return nil
}

// outdated is an error if the namespace was changed after it was read and before the records were. Written by the rules of an earlier generation, a record of a
// later one would count as one from before the change of layout, and its until would be no floor any more. A namespace that vanished and was made again begins
// at 1 and may well be behind its records.
func (l *Lease) outdated(ctx context.Context, ns Namespace, rs []Record) error {
	for _, r := range rs {
		if r.Generation <= ns.Generation {
			continue
		}
		switch current, err := readNamespace(ctx, l.st, l.name); {
		case err != nil:
			return err
		case current.Generation != ns.Generation:
			return &lostError{fmt.Errorf("lease: namespace %q was changed while a node was looked for", l.name)}
		}
		return nil
	}
	return nil
}

// settle finds out what became of an acquisition that the store did not answer, and goes on from there.
func (l *Lease) settle(ctx context.Context) error {
	h := l.hold
	stored, err := l.st.Get(ctx, keys(h.records))
	if err != nil {
		return fmt.Errorf("lease: reading node %d: %w", h.records[0].Node, err)
	}
	for _, r := range stored {
		if !h.unanswered[r.Nonce] {
			// Not written, or taken by somebody else since. If it should be written late, it runs out by itself.
			if err := l.untake(ctx); err != nil {
				return err
			}
			return l.acquire(ctx, true)
		}
	}
	h.records, h.pending = stored, false
	return l.renew(ctx)
}
