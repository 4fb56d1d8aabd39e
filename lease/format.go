package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// serverGone is how old the record of a server is at least that does not run any more.
const serverGone = time.Minute

// known is an error if a later program wrote the namespace.
func (ns Namespace) known() error {
	if ns.format <= store.Format {
		return nil
	}
	return fmt.Errorf("lease: namespace %q has the format %d, and this program knows formats up to %d: stop this "+
		"program, and start one of the version that the others have", ns.Name, ns.format, store.Format)
}

// upgradable is an error if a server runs that would not know what this program writes.
func (ns Namespace) upgradable(ctx context.Context, st store.Store) error {
	if ns.format == store.Format || ns.record.Nonce == "" {
		return nil
	}
	now, _ := st.Now(ctx)
	if now.IsZero() {
		now = world.From(ctx).Now()
	}
	for r, err := range store.Records(ctx, st, store.Servers, snowfence.NodeRange{Until: 1 << 20}) {
		if err != nil {
			return fmt.Errorf("lease: listing the servers: %w", err)
		}
		if r.Generation < store.Format && r.Data != "" && r.At > now.Add(-serverGone).UnixMilli() {
			return fmt.Errorf("lease: namespace %q: the server %q is of an earlier version, which does not know the "+
				"format %d: stop all programs of that version, then start this one", ns.Name, r.Label, store.Format)
		}
	}
	return nil
}

// Upgrade writes all namespaces as this version does, so that programs of an earlier one stop. It
// is an error that names the server if one of them runs.
func (op Operator) Upgrade(ctx context.Context) error {
	list, err := op.List(ctx)
	for _, ns := range list {
		if err == nil && ns.format < store.Format {
			_, err = editNamespace(ctx, op.st, ns.Name, func(*Namespace) (bool, error) { return true, nil })
		}
	}
	return err
}
