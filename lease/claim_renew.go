package lease

import (
	"context"
	"errors"
	"fmt"
)

// renew moves the until of what is held ahead. The order is the rule: write, then read the namespace, then use.
func (l *Lease) renew(ctx context.Context) error {
	h := l.hold
	now, err := l.clock(ctx)
	if err != nil {
		return err
	}
	if len(h.unanswered) > 0 {
		if err := l.resolve(ctx); err != nil {
			return err
		}
	}
	from := h.from
	records := h.records
	var until int64
	if l.ticks.lapsed(records, now) {
		ns, err := l.usable(ctx)
		if err != nil {
			return err
		}
		if from, until, err = l.ticks.grant(ns, records, now); err != nil {
			return err
		}
		records = make([]Record, len(records))
		for i, r := range h.records {
			records[i] = granted(ns, r, from, until)
		}
	} else {
		until = l.ticks.renewal(records, now)
	}
	if err := l.write(ctx, records, until); err != nil {
		return err
	}
	h.from = from
	return l.confirm(ctx, until)
}

// write swaps all records of the hold for ones with the given until and a fresh nonce.
func (l *Lease) write(ctx context.Context, records []Record, until int64) error {
	h := l.hold
	nonce := l.nonce()
	writes := make([]Write, len(records))
	for i, r := range records {
		r.Until, r.Nonce, r.Revision, r.Generation = until, nonce, h.records[i].Revision+1, h.generation
		r.At, r.Data = l.world.Now().UnixMilli(), l.proof()
		writes[i] = Write{h.records[i].Nonce, r}
	}
	if err := l.sending(ctx, h.records[0].Node, until); err != nil {
		return err
	}
	doubt := len(h.unanswered) > 0
	gone, unknown := l.swap(ctx, h, writes)
	switch {
	case gone > 0 && !doubt:
		err := l.lose(fmt.Errorf("node %d was changed by somebody else", h.records[0].Node))
		l.lostTo = h
		return err
	case gone > 0:
		// One of our own writes whose reply was lost may have come in between.
		if unknown != nil {
			h.answer(nonce, unknown)
		}
		if err := l.resolve(ctx); err != nil {
			if !lost(err) {
				err = l.lose(fmt.Errorf("node %d was changed, and it cannot be read by whom: %w", h.records[0].Node, err))
			}
			return err
		}
		return fmt.Errorf("lease: node %d: a late write of our own came in between", h.records[0].Node)
	}
	h.answer(nonce, unknown)
	if unknown != nil {
		return fmt.Errorf("lease: writing node %d: %w", h.records[0].Node, unknown)
	}
	return nil
}

// swap writes the records of a hold and keeps those that the store acknowledged. It returns how many were lost to other writes, and why it is not known
// what became of the others.
func (l *Lease) swap(ctx context.Context, h *hold, writes []Write) (gone int, unknown error) {
	for i, err := range l.st.Swap(ctx, writes) {
		switch {
		case err == nil:
			h.records[i] = writes[i].New
		case errors.Is(err, ErrLost):
			gone++
		default:
			unknown = err
		}
	}
	return gone, unknown
}

// maxUnanswered bounds how many nonces are remembered. A forgotten one only means that its write, should it come in, is taken for somebody else's.
const maxUnanswered = 64

// answer keeps a nonce whose write may still come in, or forgets all when a newer one is known to stand.
func (h *hold) answer(nonce string, unknown error) {
	switch {
	case unknown == nil:
		clear(h.unanswered)
	case len(h.unanswered) < maxUnanswered:
		h.unanswered[nonce] = true
	}
}

// resolve reads what is stored when replies were lost. It adopts what an own unanswered write left, as the base of the next
// write: none of it is used before that next write is acknowledged. Anything of somebody else is the loss of the lease.
func (l *Lease) resolve(ctx context.Context) error {
	h := l.hold
	stored, err := l.st.Get(ctx, keys(h.records))
	if err != nil {
		return fmt.Errorf("lease: reading node %d: %w", h.records[0].Node, err)
	}
	for i, r := range stored {
		if r.Nonce != h.records[i].Nonce && !h.unanswered[r.Nonce] {
			err := l.lose(fmt.Errorf("node %d was changed by somebody else while the store did not answer", r.Node))
			l.judge(h, stored)
			return err
		}
	}
	h.records = stored
	for _, r := range stored {
		h.from = max(h.from, r.From) // a lapsed grant that was taken anew leaves out what lies between
	}
	return nil
}

// confirm decides whether a write that was acknowledged may be used: only if the namespace and the store are still the ones that it was made for.
func (l *Lease) confirm(ctx context.Context, until int64) error {
	h := l.hold
	ns, err := l.reread(ctx)
	if errors.Is(err, ErrNoNamespace) {
		l.suspect = &h.generation
		return l.lose(err)
	}
	if err != nil {
		return err
	}
	// A store that was set back counts generations again, so that another one can have the same number. An acquisition that began before and was written after
	// that goes by a floor that no longer holds.
	if ns.Generation == h.generation && h.floor != confirmed && ns.Floor != h.floor {
		return l.lose(fmt.Errorf("namespace %q was changed: its floor is tick %d, no longer %d", l.name, ns.Floor, h.floor))
	}
	if ns.Generation != h.generation || ns.State != Active {
		if ns.Generation < h.generation {
			l.suspect = &h.generation
		}
		return l.lose(fmt.Errorf("namespace %q was changed: it is %s in generation %d, no longer %d", l.name, ns.State, ns.Generation, h.generation))
	}
	id, err := identity(ctx, l.st, l.name)
	switch {
	case err != nil:
		return fmt.Errorf("lease: asking the store who it is: %w", err)
	case id != ns.Identity:
		l.suspect = &h.generation
		return l.lose(fmt.Errorf("the store was %q and is %q now", ns.Identity, id))
	}
	h.floor = confirmed
	l.publish(until)
	return nil
}

// confirmed is in place of the floor of a hold that counts: from then on its own records say whether it is still there.
const confirmed = -1

// diagnose reads what a lost swap met, to tell another holder from a store that was set back.
func (l *Lease) diagnose(ctx context.Context) error {
	h := l.lostTo
	if h == nil {
		return nil
	}
	stored, err := l.st.Get(ctx, append(keys(h.records), Key{l.name, NamespaceNode}))
	if err != nil {
		return fmt.Errorf("lease: reading node %d, which was lost: %w", h.records[0].Node, err)
	}
	last := len(stored) - 1
	if stored[last].Generation < h.generation {
		l.suspect = &h.generation // the namespace itself went back
	}
	l.judge(h, stored[:last])
	l.lostTo = nil
	return nil
}

// judge sees whether the store went back behind what it had acknowledged.
func (l *Lease) judge(h *hold, stored []Record) {
	for i, r := range stored {
		if r.Nonce == "" || r.Revision < h.records[i].Revision {
			l.suspect = &h.generation
			l.remind(r.Key)
			l.opts.Logger.Error("the store was set back", "namespace", l.name, "node", r.Node,
				"revision", r.Revision, "acknowledged", h.records[i].Revision)
		}
	}
}

func keys(rs []Record) []Key {
	out := make([]Key, len(rs))
	for i, r := range rs {
		out[i] = r.Key
	}
	return out
}
