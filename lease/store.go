package lease

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// storedNamespace is what the record of a namespace keeps as JSON.
type storedNamespace struct {
	*Namespace
	Layouts   []string       `json:"layouts"`
	Regions   []storedRegion `json:"regions"`
	TicketKey string         `json:"ticket_key,omitempty"`
	Ledger    ledger         `json:"ledger,omitzero"`
	Before    lowered        `json:"before,omitzero"`
}

func readNamespace(ctx context.Context, st store.Store, name string) (Namespace, error) {
	rs, err := st.Get(ctx, []store.Key{{Namespace: name, Node: store.NamespaceNode}})
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: reading namespace %q: %w", name, err)
	}
	return namespaceOf(st, rs[0])
}

// namespaceOf decodes the record of a namespace. A [Group] remembers the last one.
func namespaceOf(st store.Store, r store.Record) (Namespace, error) {
	if r.Nonce == "" {
		return Namespace{}, fmt.Errorf("lease: namespace %q: %w in this store: create it", r.Namespace, ErrNoNamespace)
	}
	if g, ok := st.(*group); ok {
		return g.decode(r)
	}
	return decodeNamespace(r)
}

func decodeNamespace(r store.Record) (Namespace, error) {
	ns := Namespace{Name: r.Namespace, Generation: r.Generation, record: r}
	stored := storedNamespace{Namespace: &ns}
	err := json.Unmarshal([]byte(r.Data), &stored)
	if err == nil {
		ns.Regions, err = readRegions(stored.Layouts, stored.Regions)
	}
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: the record of namespace %q is damaged: stop its programs, "+
			"restore a backup, and wait its longest ttl and twice its largest skew before one starts "+
			"(docs/operate/operations.md, Backup): %w", r.Namespace, err)
	}
	ns.ticketKey, ns.ledger, ns.before = stored.TicketKey, stored.Ledger, stored.Before
	ns.Reserved.Stopped = ns.Reserved.Backfill > 0 && ns.ledger.Identity != ns.Identity
	return ns, nil
}

// write stores the namespace, or is [ErrLost] if somebody wrote it since it was read.
func (ns Namespace) write(ctx context.Context, st store.Store) (Namespace, error) {
	layouts, regions := storedRegions(ns.Regions)
	data, err := json.Marshal(storedNamespace{&ns, layouts, regions, ns.ticketKey, ns.ledger, ns.before})
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	}
	old := ns.record.Nonce
	w := world.From(ctx)
	ns.record.Nonce = w.Text()
	ns.record.Revision++
	ns.record.Generation = ns.Generation
	ns.record.Until = ns.Floor
	ns.record.At = w.Now().UnixMilli()
	ns.record.Data = string(data)
	if err := st.Swap(ctx, []store.Write{{Old: old, New: ns.record}})[0]; err != nil {
		return Namespace{}, fmt.Errorf("lease: writing namespace %q: %w", ns.Name, err)
	}
	return ns, nil
}
