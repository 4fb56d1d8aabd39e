package backfill

import (
	"context"
	"fmt"
	"slices"

	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// readCounts reads the namespace and counts, and returns why no ID can be
// made, if so.
func (b *Backfill) readCounts(ctx context.Context, keys []store.Key) (scope.Namespace, []store.Record, error) {
	fail := func(err error) (scope.Namespace, []store.Record, error) { return scope.Namespace{}, nil, err }
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
	ns, err := scope.ReadNamespace(b.st, rs[0])
	if err != nil {
		return fail(err)
	}
	if err := ns.Usable(b.scheme); err != nil {
		return fail(err)
	}
	if err := b.compare(ctx, seen, ns, rs[max(last, 0)]); err != nil {
		return fail(err)
	}
	if err := ns.Fills(b.scheme, b.node, id); err != nil {
		return fail(err)
	}
	b.remember(ns, store.Record{})
	return ns, rs[1 : 1+len(keys)], nil
}

// compare looks for a store that was rolled back behind this Backfill, with
// or without another identity. It notes that in the namespace, so that no
// Backfill uses the counts.
func (b *Backfill) compare(ctx context.Context, seen witnessed, ns scope.Namespace, last store.Record) error {
	same := seen.namespace.Epoch() == ns.Epoch()
	less := ns.Revision() < seen.namespace.Revision()
	was := seen.record
	older := last.Revision < was.Revision || last.Revision == was.Revision && last.Nonce != was.Nonce
	gone := ns.Epoch() == "" && !same || same && older
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
	if same || ns.Epoch() == "" {
		if err := scope.Namespaces(b.st).NoteRollback(ctx, b.name); err != nil {
			return err // it is tried again
		}
	}
	b.mu.Lock()
	b.dead = err
	b.mu.Unlock()
	return err
}

// remember notes the shown or acknowledged counts of the store. If two
// writes cross, either will do.
func (b *Backfill) remember(ns scope.Namespace, written store.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen.namespace.Epoch() != ns.Epoch() {
		b.seen = witnessed{}
	}
	if b.seen.namespace.Revision() <= ns.Revision() {
		b.seen.namespace = ns
	}
	if written.Nonce != "" {
		b.seen.record = written
	}
}
