package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/internal/world"
)

// giveBack clears the holder. With sealed it also lowers until to used: nobody can make an ID of that tick or a later one from the grant any more.
// A node that somebody else has meanwhile is left alone. It needs ops.
func (l *Lease) giveBack(ctx context.Context, used int64, sealed bool) error {
	h := l.hold
	switch {
	case h == nil:
		l.returned()
		return nil
	case h.pending:
		return l.untake(ctx)
	}
	l.mu.Lock()
	l.cur, l.of, l.handed, l.spent = nil, nil, false, true // whatever becomes of this, it is not given out again
	l.mu.Unlock()
	for range 3 {
		if len(h.unanswered) > 0 {
			if err := l.resolve(ctx); lost(err) {
				break
			} else if err != nil {
				return err
			}
		}
		nonce := l.nonce()
		writes := make([]Write, len(h.records))
		for i, r := range h.records {
			w := vacated(l.world, r)
			w.Nonce, w.Data = nonce, l.proof()
			if sealed {
				w.Until = min(r.Until, max(used, h.from))
			}
			writes[i] = Write{r.Nonce, w}
		}
		gone, unknown := l.swap(ctx, h, writes)
		if gone > 0 && len(h.unanswered) > 0 {
			continue // a late write of our own
		}
		if errors.Is(unknown, ErrRefused) {
			break // by a server, which would refuse it again: the node runs out by itself
		}
		if unknown != nil {
			h.unanswered[nonce] = true
			return fmt.Errorf("lease: giving node %d of namespace %q back: %w", h.records[0].Node, l.name, unknown)
		}
		if gone > 0 {
			l.lostTo = h // the next acquisition looks whether to another holder, or to a store that was set back
		}
		break
	}
	l.hold = nil
	l.returned()
	return nil
}

// returned notes that the store keeps nothing for the lease any more. It needs ops.
func (l *Lease) returned() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spent, l.keptUntil = false, 0
}

// untake gives back what an acquisition that never counted has written. Nothing of it can have been used.
func (l *Lease) untake(ctx context.Context) error {
	h := l.hold
	stored, err := l.st.Get(ctx, keys(h.records))
	if err != nil {
		return fmt.Errorf("lease: reading node %d: %w", h.records[0].Node, err)
	}
	nonce := l.nonce()
	var writes []Write
	for _, r := range stored {
		if h.unanswered[r.Nonce] {
			w := vacated(l.world, r)
			w.Nonce, w.Data, w.Until = nonce, l.proof(), h.from
			writes = append(writes, Write{r.Nonce, w})
		}
	}
	if len(writes) > 0 {
		for _, err := range l.st.Swap(ctx, writes) {
			if err != nil && !errors.Is(err, ErrLost) && !errors.Is(err, ErrRefused) {
				return fmt.Errorf("lease: giving node %d back: %w", writes[0].New.Node, err) // it is tried again
			}
		}
	}
	l.hold = nil
	l.returned()
	return nil
}

// vacated returns r as it is written when its holder is cleared.
func vacated(w world.World, r Record) Record {
	r.Holder, r.Nonce, r.Revision, r.At = "", w.Text(), r.Revision+1, w.Now().UnixMilli()
	return r
}
