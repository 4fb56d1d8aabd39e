package lease

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// raise writes that ticks up to now may be used. A change of layout puts
// its floor above them.
func (b *Backfill) raise(ctx context.Context, ns Namespace, now time.Time) (Namespace, error) {
	if _, err := checkedClock(ctx, b.st, world.From(ctx).Now, pastSkew); err != nil {
		return ns, err
	}
	ns.ledger.Until = now.UnixMilli() + 1
	return ns.write(ctx, b.st)
}

// readCounts reads the namespace and counts, and returns why no ID can be
// made, if so.
func (b *Backfill) readCounts(ctx context.Context, keys []store.Key) (Namespace, []store.Record, error) {
	fail := func(err error) (Namespace, []store.Record, error) { return Namespace{}, nil, err }
	b.mu.Lock()
	seen, dead := b.seen, b.dead
	b.mu.Unlock()
	if dead != nil {
		return fail(dead)
	}
	all := append([]store.Key{{Namespace: b.name, Node: store.NamespaceNode}}, keys...)
	last := slices.Index(all, seen.record.Key)
	if last < 0 && seen.record.Nonce != "" {
		last = len(all)
		all = append(all, seen.record.Key)
	}
	rs, err := b.st.Get(ctx, all)
	if err != nil {
		return fail(fmt.Errorf("lease: reading namespace %q: %w", b.name, err))
	}
	id, err := b.st.Identity(ctx, b.name)
	if err != nil {
		return fail(fmt.Errorf("lease: reading the store's identity: %w", err))
	}
	ns, err := namespaceOf(b.st, rs[0])
	if err != nil {
		return fail(err)
	}
	if err := ns.usable(b.scheme); err != nil {
		return fail(err)
	}
	if err := b.compare(ctx, seen, ns, rs[max(last, 0)]); err != nil {
		return fail(err)
	}
	switch _, added, err := ns.rotated(b.scheme, false); {
	case err != nil:
		return fail(err)
	case added:
		return fail(fmt.Errorf("lease: namespace %q: %w: it does not know the last secret: create the namespace "+
			"again with all secrets; nothing else changes", b.name, snowfence.ErrKey))
	case ns.Backfill == 0:
		return fail(ns.notAllowed())
	case id != ns.ledger.Identity:
		return fail(fmt.Errorf("lease: namespace %q makes no IDs for the past: %w, because it was rolled back or "+
			"replaced: name nodes without IDs for the past (snowfence namespace change --backfill-nodes)", b.name,
			ErrRolledBack))
	case !ns.fills(b.node):
		return fail(refusedf("lease: namespace %q: node %d makes no more IDs for the past, because the store was "+
			"rolled back: use the nodes %d to %d", b.name, b.node, ns.BackfillNodes.From, ns.BackfillNodes.Until-1))
	}
	b.remember(ns, store.Record{})
	return ns, rs[1 : 1+len(keys)], nil
}

// compare looks for a store that was rolled back behind this Backfill, with
// or without another identity. It notes that in the namespace, so that no
// Backfill uses the counts.
func (b *Backfill) compare(ctx context.Context, seen witnessed, ns Namespace, last store.Record) error {
	same := seen.namespace.ledger.Epoch == ns.ledger.Epoch
	less := ns.record.Revision < seen.namespace.record.Revision
	was := seen.record
	older := last.Revision < was.Revision || last.Revision == was.Revision && last.Nonce != was.Nonce
	gone := ns.ledger.Epoch == "" && !same || same && older
	if !less && !gone {
		return nil
	}
	if ns.Generation <= seen.namespace.Generation {
		if err := b.st.Suspect(ctx, ns.Identity); err != nil {
			return fmt.Errorf("lease: giving the store another identity: %w", err)
		}
	}
	err := fmt.Errorf("lease: namespace %q makes no IDs for the past: %w that it had acknowledged: name nodes "+
		"without IDs for the past (snowfence namespace change --backfill-nodes), and then open one of them", b.name,
		ErrRolledBack)
	if same || ns.ledger.Epoch == "" {
		_, noted := editNamespace(ctx, b.st, b.name, func(ns *Namespace) (bool, error) {
			ns.rolledBack(world.From(ctx).Now())
			return true, nil
		})
		if noted != nil {
			return noted // it is tried again
		}
	}
	b.mu.Lock()
	b.dead = err
	b.mu.Unlock()
	return err
}

// remember notes the shown or acknowledged counts of the store. If two
// writes cross, either will do.
func (b *Backfill) remember(ns Namespace, written store.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen.namespace.ledger.Epoch != ns.ledger.Epoch {
		b.seen = witnessed{}
	}
	if b.seen.namespace.record.Revision <= ns.record.Revision {
		b.seen.namespace = ns
	}
	if written.Nonce != "" {
		b.seen.record = written
	}
}
